/** The entry of the command line, for `npm start` and a global installation. */
import { processIo } from './cli/io.ts';
import { runCli } from './cli/program.ts';

process.exitCode = await runCli(process.argv.slice(2), processIo());
