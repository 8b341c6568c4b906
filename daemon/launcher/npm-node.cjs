/**
 * Loaded into npm. npm leaves out optional packages that do not run on its own Node, such as the bundler's compiled part on
 * Node 18. The build runs on the pinned Node, so npm is told that one's version. Valid on Node 18.
 */
const { optionalDependencies } = require('../../package.json');

Object.defineProperty(process, 'version', { value: `v${Object.values(optionalDependencies)[0]}` });
