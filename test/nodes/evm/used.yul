// Tells which of many addresses are in use: one byte for each, 1 or 0. It runs in eth_call, as the code that would make a contract,
// and is never deployed. `daemon/chains/evm/used.ts` has it compiled.
// Input, after the code: the number of tokens (1 byte), their contracts (20 bytes each), the addresses (20 bytes each).
object "Used" {
  code {
    // 0x00: the call of balanceOf (36 bytes); 0x24: its answer; 0x60: the input, then the output
    let size := sub(codesize(), datasize("Used"))
    codecopy(0x60, datasize("Used"), size)
    let tokens := 0x61
    let addresses := add(tokens, mul(byte(0, mload(0x60)), 20))
    let end := add(0x60, size)
    let out := end
    mstore(0, shl(224, 0x70a08231))
    for { let at := addresses } lt(at, end) { at := add(at, 20) } {
      let who := shr(96, mload(at))
      // EIP-1052: 0 only of an account with neither code, nor a balance, nor a transaction sent (EIP-161)
      let used := iszero(iszero(extcodehash(who)))
      mstore(4, who)
      for { let token := tokens } and(iszero(used), lt(token, addresses)) { token := add(token, 20) } {
        if iszero(staticcall(gas(), shr(96, mload(token)), 0, 36, 36, 32)) { revert(0, 0) }
        if lt(returndatasize(), 32) { revert(0, 0) }
        used := iszero(iszero(mload(36)))
      }
      mstore8(out, used)
      out := add(out, 1)
    }
    return(end, sub(out, end))
  }
}
