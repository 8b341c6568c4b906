/** Prints, as JSON, what Redocly's recommended rules say of the OpenAPI description in a file. */
import { readFileSync } from 'node:fs';
import { createConfig, lintFromString } from '@redocly/openapi-core';

const source = readFileSync(process.argv[2], 'utf8');
const config = await createConfig({ extends: ['recommended'] });
const problems = await lintFromString({ source, config });
const told = problems.map(({ ruleId, severity, message, location }) => {
  return { rule: ruleId, severity, message, at: location[0]?.pointer ?? '' };
});
process.stdout.write(JSON.stringify(told));
