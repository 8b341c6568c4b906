// Tells the balances of many addresses: a byte 1, then 12 bytes for each, of which all bits are set where it is larger. It runs in
// eth_call, as the code that would make a contract, and is never deployed. `daemon/chains/evm/balances-call.ts` has it compiled.
// Input, after the code: the addresses (20 bytes each). The first byte of the output may not be 0xef (EIP-3541).
object "Balances" {
  code {
    let size := sub(codesize(), datasize("Balances"))
    codecopy(0, datasize("Balances"), size)
    let begin := add(size, 32)
    mstore8(begin, 1)
    let out := add(begin, 1)
    for { let at := 0 } lt(at, size) { at := add(at, 20) } {
      let units := balance(shr(96, mload(at)))
      if gt(units, 0xffffffffffffffffffffffff) { units := 0xffffffffffffffffffffffff }
      mstore(out, shl(160, units))
      out := add(out, 12)
    }
    return(begin, sub(out, begin))
  }
}
