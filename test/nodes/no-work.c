/*
 * What monerod uses of RandomX, without the work: a block takes two of its hashes, 0.04 s each, and a start takes half a second.
 * At the tests' difficulty each hash is small enough. A block's id is another hash.
 */
#include <stddef.h>
#include <string.h>

static int something;

int randomx_get_flags(void) { return 0; }
void *randomx_alloc_cache(int flags) { return &something; }
void randomx_init_cache(void *cache, const void *key, size_t size) {}
void *randomx_create_vm(int flags, void *cache, void *dataset) { return &something; }
void randomx_vm_set_cache(void *vm, void *cache) {}
void randomx_destroy_vm(void *vm) {}
void randomx_calculate_hash(void *vm, const void *input, size_t size, void *output) { memset(output, 1, 32); }
