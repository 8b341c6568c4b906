/**
 * Test files with a process of their own: they start nodes, browsers or whole programs, replace a module, change the process's user or its
 * clock, measure memory or turns of the event loop, or set a variable that a library reads once. All others share processes and the modules
 * loaded there: the service's take two seconds. They change nothing for each other.
 */
export const ALONE = [
  'adapters/*',
  'api/rates-sources',
  'e2e/*',
  'scenario/*',
  'simulation/*',
  'unit/app/{ingest-hostile,maintenance,withdraw-reworded}',
  'unit/{chromium,cli-keychain,cli-request,cli-signer-folder,turns}',
  'unit/desktop/{servers,shell}',
  'unit/home/keychain',
  'unit/wallet/{signer-journal-room,signer-killed,signer-monero,signer-service}',
].map((name) => `test/${name}.test.ts`);
