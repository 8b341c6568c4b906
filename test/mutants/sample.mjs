/**
 * Lets Stryker see one function or top-level statement in MUTANTS_ONE_OF, chosen by a hash of its text, so that a large room is
 * measured by a sample that is the same in every run of the same code. `run.mjs` sets MUTANTS_ONE_OF, a whole number from 1 on.
 */
import { createHash } from 'node:crypto';
import { declareValuePlugin, PluginKind } from '@stryker-mutator/api/plugin';

const ONE_OF = Number(process.env.MUTANTS_ONE_OF);
const hashOf = (text) => createHash('sha256').update(text).digest().readUInt32BE();

/** A class is taken apart into its members; anything else at the top of a file is one piece. */
const isPiece = ({ node, parentPath }) => {
  const at = parentPath?.node.type;
  if (at === 'ClassBody') return true;
  if (at !== 'Program' && at !== 'ExportNamedDeclaration') return false;
  return !['ClassDeclaration', 'ExportNamedDeclaration'].includes(node.type);
};

const shouldIgnore = (path) => {
  if (!isPiece(path)) return;
  return hashOf(path.toString()) % ONE_OF === 0 ? undefined : 'not in the sample';
};

export const strykerPlugins = [declareValuePlugin(PluginKind.Ignore, 'sample', { shouldIgnore })];
