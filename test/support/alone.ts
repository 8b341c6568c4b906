/**
 * Test files with a process of their own: they replace a module or look at those that are loaded, change the process's user or its clock,
 * measure memory or turns of the event loop, or set a variable that a library reads once. All others share processes and the modules loaded there: the service's take two
 * seconds. They change nothing for each other.
 */
export const ALONE = [
  'adapters/{electrum-servers,evm-hostile,hostile}',
  'api/rates-sources',
  'e2e/{desktop-bridge,desktop-guide,desktop-servers,keychain,keychain-server,nginx,page-network}',
  'scenario/{full-disk,monero,withdraw-faults}',
  'simulation/*',
  'unit/app/{alarms,ingest-hostile,maintenance,withdraw-reworded}',
  'unit/chains/{headers-chain,large}',
  'unit/{cli-keychain,cli-move,cli-request,cli-signer-folder,turns}',
  'unit/desktop/{servers,shell}',
  'unit/home/keychain',
  'unit/wallet/{signer-journal-room,signer-killed,signer-monero,signer-service}',
].map((name) => `test/${name}.test.ts`);
