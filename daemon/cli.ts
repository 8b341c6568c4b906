/** The entry of the command line: `countinghouse …`, which `npm start` and a global install both lead to. */
import { processIo } from './cli/io.ts';
import { runCli } from './cli/program.ts';

process.exitCode = await runCli(process.argv.slice(2), processIo());
