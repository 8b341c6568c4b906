/**
 * The shape of the source tree: who imports whom, how long things are, what is used, what must not be called. It reads
 * text, not syntax trees: the formatter makes the layout regular enough for that.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ENTRIES } from '../daemon/kit/entries.ts';

const ROOT = join(import.meta.dirname, '..');

const FILE_LINES_MEDIAN_MAX = 150;
const FILE_LINES_MAX = 400;
const FILES_OVER_MAX_SHARE = 0.05;
const FUNCTION_LINES_MAX = 70;

/** Which rooms a room may import, as in daemon/README.md. A type may come from any room below: it leaves no call behind. */
const BELOW_APP = ['kit', 'domain', 'store', 'chains', 'sandbox', 'rates', 'wallet', 'config', 'log', 'monero'];
const ROOMS: Record<string, { values: string[]; types?: string[] }> = {
  kit: { values: [] },
  domain: { values: [] },
  log: { values: [] },
  launcher: { values: ['kit'] },
  contract: { values: ['domain'] },
  config: { values: ['kit', 'domain'] },
  store: { values: ['kit', 'domain'] },
  monero: { values: ['domain'] },
  chains: { values: ['kit', 'domain', 'monero'] },
  sandbox: { values: ['kit', 'domain', 'store', 'chains', 'monero'] },
  rates: { values: ['domain'] },
  wallet: { values: ['kit', 'domain', 'monero'] },
  app: { values: BELOW_APP },
  workers: { values: ['kit', 'app', 'domain'], types: BELOW_APP },
  // what an operator's program does by itself: it believes nothing that the daemon says
  operator: { values: ['kit', 'contract', 'domain', 'monero', 'wallet'] },
  http: { values: ['kit', 'app', 'domain', 'contract'], types: BELOW_APP },
  'payment-page': { values: ['http', 'app', 'domain'], types: BELOW_APP },
  // the signing machine's end of the connection
  home: { values: ['kit', 'contract', 'operator', 'domain', 'wallet'] },
  web: { values: ['contract'] },
  main: { values: ['kit', 'contract', 'operator', 'home', 'config', 'domain', 'wallet', 'launcher', 'renderer'] },
  // approves what it read itself, in a browser too
  renderer: { values: ['contract', 'operator', 'domain'] },
};
/** The rooms of `app/` that pay out, each on those before it. */
const PAYING = ['spends', 'gas', 'withdrawals', 'forwarding'];
/** The command line and the composition root put everything together. */
const TOP = ['daemon/cli.ts', 'daemon/main.ts', 'daemon/cli/'];

/** What is started by its path, not imported. */
const STARTED = [
  ...Object.values(ENTRIES).map((source) => `daemon/${source}.ts`),
  ...['countinghouse', 'prepare', 'bundle.config', 'pack', 'slim'].map((name) => `daemon/launcher/${name}.mjs`),
  'daemon/launcher/npm-node.cjs',
];

const TOP_LEVEL = new Set([
  'LICENSE',
  'CHANGELOG.md',
  'SECURITY.md',
  'package.json',
  'electron-builder.yml',
  'main',
  'renderer',
  'daemon',
  'resources',
  'test',
  'README.md',
  // where their tools insist on finding them
  'Containerfile',
  'compose.signer.yaml',
  'compose.yaml',
  'package-lock.json',
  'tsconfig.json',
  'biome.json',
  'vitest.config.ts',
  'vite.config.ts',
]);
/** Made by tools, never committed. */
const MADE = new Set(['node_modules', 'dist', 'data', 'coverage']);

type Source = { path: string; text: string; lines: string[]; code: string };

function filesBelow(folder: string): string[] {
  if (!existsSync(join(ROOT, folder))) return [];
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    if (MADE.has(entry.name)) return [];
    const path = `${folder}/${entry.name}`;
    return entry.isDirectory() ? filesBelow(path) : [path];
  });
}

const isSource = (path: string): boolean => /\.(?:ts|tsx|mts|mjs|js)$/.test(path);

/** Comments gone, every line kept. A comment begins its line or follows a blank, which no URL's slashes do. */
const withoutComments = (text: string): string =>
  text
    .replace(/^[ \t]*\/\*[\s\S]*?\*\//gm, (comment) => comment.replace(/[^\n]/g, ''))
    .replace(/(^|[ \t])\/\/.*$/gm, '$1');

const read = (path: string): Source => {
  const text = readFileSync(join(ROOT, path), 'utf8');
  return { path, text, lines: text.split('\n').slice(0, -1), code: withoutComments(text) };
};

const PRODUCT = ['daemon', 'main', 'renderer'].flatMap(filesBelow).filter(isSource).map(read);
const TESTS = filesBelow('test').filter(isSource).map(read);

const inRoom = (room: string): Source[] => PRODUCT.filter(({ path }) => path.startsWith(`daemon/${room}/`));

type Import = { specifier: string; typeOnly: boolean };
const IMPORT = /^[ \t]*(?:import|export)\b([^'"`;]*?)\bfrom\s*['"]([^'"]+)['"]/gm;
const BARE = /^[ \t]*import\s*['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]/gm;

function importsOf({ code }: Source): Import[] {
  return [
    ...[...code.matchAll(IMPORT)].map(([, clause, specifier]) => ({
      specifier: specifier!,
      typeOnly: /^\s*type\b/.test(clause!),
    })),
    ...[...code.matchAll(BARE)].map(([, a, b]) => ({ specifier: (a ?? b)!, typeOnly: false })),
  ];
}

const pathOf = (from: string, specifier: string): string =>
  relative(ROOT, join(ROOT, dirname(from), specifier)).replaceAll(sep, '/');

/** 'domain' for daemon/domain/money.ts, 'log' for daemon/log.ts, 'main' for main/window.ts; 'top' for the top. */
function roomOf(path: string): string {
  if (TOP.some((top) => path.startsWith(top))) return 'top';
  const [first, second] = path.split('/');
  return (first === 'daemon' ? second! : first!).replace(/\.ts$/, '');
}

/** What `source` imports against the table. */
function strayImports(source: Source): string[] {
  const room = roomOf(source.path);
  if (room === 'top') return [];
  const { values, types = [] } = ROOMS[room] ?? { values: [] };
  return importsOf(source).flatMap(({ specifier, typeOnly }) => {
    // a style sheet is no code
    if (!specifier.startsWith('.') || specifier.endsWith('.css')) return [];
    const target = roomOf(pathOf(source.path, specifier));
    const allowed = target === room || values.includes(target) || (typeOnly && types.includes(target));
    return allowed ? [] : [`${source.path} (${room}) imports ${target}`];
  });
}

/** Relative paths in quotes. */
function mentions({ path, code }: Source, known: Set<string>): string[] {
  const quoted = [...code.matchAll(/['"`](\.{1,2}\/[^'"`\n]+?\.(?:tsx?|mjs|js))['"`]/g)];
  return quoted
    .map(([, specifier]) => pathOf(path, specifier!))
    .flatMap((target) => [target, target.replace(/\.js$/, '.ts'), target.replace(/\.js$/, '.tsx')])
    .filter((target) => known.has(target));
}

/** The files of daemon/ that no entry leads to. The browser's code is bundled from its own entries. */
function unused(): string[] {
  const sources = new Map(PRODUCT.filter(({ path }) => path.startsWith('daemon/')).map((one) => [one.path, one]));
  const known = new Set(sources.keys());
  const reached = new Set<string>();
  const clients = PRODUCT.filter(({ path }) => !path.startsWith('daemon/'));
  const waiting = [...STARTED, ...clients.flatMap((source) => mentions(source, known))];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const source = sources.get(path);
    if (!source || reached.has(path)) continue;
    reached.add(path);
    waiting.push(...mentions(source, known));
  }
  return [...known].filter((path) => !reached.has(path) && !path.startsWith('daemon/web/'));
}

/** Files that import each other's values in a circle. Each circle once, its files in the order of their names. */
function circles(): string[][] {
  const imports = new Map(
    PRODUCT.map((source): [string, string[]] => [
      source.path,
      importsOf(source)
        .filter(({ specifier, typeOnly }) => specifier.startsWith('.') && !typeOnly)
        .map(({ specifier }) => pathOf(source.path, specifier)),
    ]),
  );
  const reach = (from: string): Set<string> => {
    const reached = new Set<string>();
    const waiting = [...(imports.get(from) ?? [])];
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      if (reached.has(path)) continue;
      reached.add(path);
      waiting.push(...(imports.get(path) ?? []));
    }
    return reached;
  };
  const reached = new Map([...imports.keys()].map((path) => [path, reach(path)]));
  const turning = [...imports.keys()].filter((path) => reached.get(path)?.has(path)).toSorted();
  const found = turning.map((path) =>
    turning.filter((other) => reached.get(path)?.has(other) && reached.get(other)?.has(path)),
  );
  return found.filter((files, at) => files[0] === turning[at]);
}

/** A line that opens a function's body: a declaration, an arrow, a method, or the end of a signature of several lines. */
const OPENS = [
  /\bfunction\b.*\{$/,
  /=> \{$/,
  /^\s*(?:(?:static|async|get|set|override|private|protected|public)\s+)*[#\w]+(?:<.*>)?\(.*\)(?:: .+)? \{$/,
  /^\s*\)(?:: .+)? (?:=> )?\{$/,
];
const CONTROL = /^\s*(?:\} )?(?:if|for|while|switch|catch|else|do|try|return|with)\b/;
const indentOf = (line: string): number => line.search(/\S|$/);

/** Every function with the number of its lines: to the first closing brace at the indentation where it began. */
function functionsOf({ path, lines }: Source): { name: string; length: number }[] {
  return lines.flatMap((line, at) => {
    if (CONTROL.test(line) || !OPENS.some((open) => open.test(line))) return [];
    const indent = indentOf(line);
    let first = at;
    while (first > 0 && lines[first]!.trimStart().startsWith(')') && lines[first]!.trim() !== '') {
      first = lines.findLastIndex((other, n) => n < first && other.trim() !== '' && indentOf(other) === indent);
    }
    const last = lines.findIndex((other, n) => n > at && indentOf(other) === indent && other.trim().startsWith('}'));
    return last < 0 ? [] : [{ name: `${path}:${first + 1} ${lines[first]!.trim()}`, length: last - first + 1 }];
  });
}

/** The lines of `sources` whose code, comments aside, matches. */
function linesWith(sources: Source[], pattern: RegExp): string[] {
  return sources.flatMap(({ path, code }) =>
    code.split('\n').flatMap((line, n) => (pattern.test(line) ? [`${path}:${n + 1} ${line.trim()}`] : [])),
  );
}

/** Where the bracket that opens at `from` closes. Brackets in texts do not count. */
function closingOf(code: string, from: number): number {
  const tokens = /\\.|(['"`])(?:\\.|(?!\1)[^\\])*\1|[{[(]|[}\])]/gs;
  tokens.lastIndex = from;
  let depth = 0;
  for (let token = tokens.exec(code); token; token = tokens.exec(code)) {
    if ('{[('.includes(token[0])) depth++;
    else if ('}])'.includes(token[0]) && --depth === 0) return token.index;
  }
  return code.length;
}

/** `...{ a, b }` and `...[a, b]`, which put several lines on one and hide properties from the compiler. */
function spreadLiterals({ path, code }: Source): string[] {
  return [...code.matchAll(/\.\.\.(\(*)[{[]/g)].flatMap((match) => {
    const open = match.index + match[0].length - 1;
    const after = code.slice(closingOf(code, open) + 1).replace(/^\s*(?:as const)?\s*\)*\s*/, '');
    // a method of the array, a member of the object, or a parameter's type
    if (/^[.[?:=]/.test(after)) return [];
    return [`${path}:${code.slice(0, match.index).split('\n').length} ${code.slice(match.index, open + 40)}`];
  });
}

describe('rooms', () => {
  it('are all in the table', () => {
    const unknown = PRODUCT.map(({ path }) => roomOf(path)).filter((room) => room !== 'top' && !(room in ROOMS));
    expect([...new Set(unknown)]).toEqual([]);
  });

  it('import downwards only', () => {
    expect(PRODUCT.flatMap(strayImports)).toEqual([]);
  });

  it('no files import each other in a circle, except for types', () => {
    expect(circles()).toEqual([]);
  });

  it('of what pays out import no room that stands on them, except for types', () => {
    const upward = PAYING.flatMap((room, at) =>
      inRoom(`app/${room}`).flatMap((source) =>
        importsOf(source)
          .filter(({ typeOnly }) => !typeOnly)
          .map(({ specifier }) => pathOf(source.path, specifier))
          .filter((target) => PAYING.slice(at + 1).some((above) => target.startsWith(`daemon/app/${above}/`)))
          .map((target) => `${source.path} imports ${target}`),
      ),
    );
    expect(upward).toEqual([]);
  });

  it('domain imports no library, contract none but zod', () => {
    const libraries = (room: string): string[] =>
      inRoom(room).flatMap((source) =>
        importsOf(source)
          .filter(({ specifier }) => !specifier.startsWith('.'))
          .map(({ specifier }) => specifier),
      );
    expect(libraries('domain')).toEqual([]);
    expect(libraries('contract').filter((name) => name !== 'zod' && !name.startsWith('node:'))).toEqual([]);
  });

  it('import with the extension of the source', () => {
    const bare = PRODUCT.filter(({ path }) => path.startsWith('daemon/')).flatMap((source) =>
      importsOf(source)
        .filter(({ specifier }) => specifier.startsWith('.') && !existsSync(join(ROOT, pathOf(source.path, specifier))))
        .map(({ specifier }) => `${source.path}: ${specifier}`),
    );
    expect(bare).toEqual([]);
  });
});

describe('sizes', () => {
  it('most files are short', () => {
    const lengths = PRODUCT.map(({ lines }) => lines.length).sort((a, b) => a - b);
    expect(lengths[lengths.length >> 1]).toBeLessThanOrEqual(FILE_LINES_MEDIAN_MAX);
    const over = PRODUCT.filter(({ lines }) => lines.length >= FILE_LINES_MAX).map(({ path }) => path);
    expect(over.length / PRODUCT.length, over.join(', ')).toBeLessThan(FILES_OVER_MAX_SHARE);
  });

  it('functions fit on a screen', () => {
    const functions = PRODUCT.flatMap(functionsOf);
    expect(functions.length).toBeGreaterThan(PRODUCT.length);
    expect(functions.filter(({ length }) => length >= FUNCTION_LINES_MAX)).toEqual([]);
  });
});

describe('use', () => {
  it('every file of the daemon is reached from an entry', () => {
    expect(STARTED.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
    expect(unused()).toEqual([]);
  });

  const console = filesBelow('renderer').filter((path) => /\.(?:tsx?|css|html)$/.test(path));
  const textOf = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
  /** Whole, or as the dynamic part of a template: `coin-${name}`. */
  const isIn = (texts: string, name: string): boolean =>
    new RegExp(`(?<![\\w-])${name}(?![\\w-])`).test(texts) ||
    [...texts.matchAll(/(?<![\w-])([\w-]*[_-]|rule)\$\{/g)].some(
      ([, begin = '']) => begin !== '' && name.startsWith(begin),
    );

  it('every text of the console is shown somewhere', () => {
    const sources = console.filter((path) => /\.tsx?$/.test(path));
    const tables = sources.filter((path) => /texts\.ts$/.test(path));
    // the states of servers, which are shown by their own words
    const words = ['daemon/domain/chain.ts'];
    expect(tables.length).toBeGreaterThan(10);
    const forgotten = tables.flatMap((path) => {
      const [english = ''] = textOf(path).split(/^ {2}\},$/m);
      const folders = [dirname(path), 'renderer'];
      const table = path.split('/').slice(-2).join('/');
      const near = sources.filter(
        (one) => one !== path && (folders.includes(dirname(one)) || textOf(one).includes(table)),
      );
      const texts = [...near, ...words].map(textOf).join('\n');
      const keys = [...english.matchAll(/^ {4}(\w+):/gm)].map(([, key = '']) => key);
      return keys.filter((key) => !isIn(texts, key)).map((key) => `${path}: ${key}`);
    });
    expect(forgotten).toEqual([]);
  });

  it('every class of the console is worn by something', () => {
    const texts = console
      .filter((path) => !path.endsWith('.css'))
      .map(textOf)
      .join('\n');
    const forgotten = console
      .filter((path) => path.endsWith('.css'))
      .flatMap((path) => {
        const selectors = withoutComments(textOf(path)).matchAll(/([^{}]+)\{/g);
        const names = [...selectors].flatMap(([, one = '']) => [...one.matchAll(/\.([a-zA-Z][\w-]*)/g)]);
        return names.filter(([, name = '']) => !isIn(texts, name)).map(([name]) => `${path}: ${name}`);
      });
    expect(forgotten).toEqual([]);
  });

  it('the top level holds what is listed', () => {
    const strange = readdirSync(ROOT).filter(
      (name) => !name.startsWith('.') && !name.endsWith('.log') && !MADE.has(name) && !TOP_LEVEL.has(name),
    );
    expect(strange).toEqual([]);
  });

  it('the lock file names no address', () => {
    expect(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')).not.toContain('"resolved"');
  });
});

describe('banned', () => {
  const others = TESTS.filter(({ path }) => path !== 'test/tidy.test.ts');
  const talkative = PRODUCT.filter(({ path }) => !/^daemon\/(?:cli\.ts|cli\/|launcher\/)/.test(path));

  // days and hours are no money
  const timely = ['daemon/domain/calendar.ts', 'daemon/kit/schedule.ts'];
  const domainMoney = inRoom('domain').filter(({ path }) => !timely.includes(path));

  it.each([
    [
      'clocks, chance, IO and promises in domain',
      inRoom('domain'),
      /Date\.now|\bnew Date(?:\(\)|;)|Math\.random|\bprocess\./,
    ],
    ['promises in domain', inRoom('domain'), /\basync |\bawait |\bPromise\b|\bsetTimeout\b/],
    ['floating point in domain', domainMoney, /\bparseFloat\b|\bNumber\(/],
    ['console.log', talkative, /\bconsole\.log\b/],
    [
      'time limits of chains that end with a TimeoutError',
      [...inRoom('app'), ...inRoom('http')],
      /AbortSignal\.timeout/,
    ],
    [
      'a family of chains in what pays out',
      [...inRoom('app/spends'), ...inRoom('app/withdrawals')],
      /isUtxo|utxo|evm\b|xmr\b|simulated|'(?:BTC|LTC|BCH|XMR|ETH|BSC|BNB)'|script\b|vsize|\/sandbox\//i,
    ],
    ['eval', PRODUCT, /\beval\(|\bnew Function\(/],
    ['any', [...PRODUCT, ...others], /\bas any\b|: any\b/],
  ])('%s', (_name, sources, pattern) => {
    expect(linesWith(sources, pattern)).toEqual([]);
  });

  it('spreads of literals', () => {
    expect([...PRODUCT, ...TESTS].flatMap(spreadLiterals)).toEqual([]);
  });

  it('sentences that begin with a riddle, unless they ask', () => {
    const opening = /(?:^|[.!?:] |['"`])(?:What|Whoever|Nothing that)\b[^.?!]*(?:[.!]|$)/;
    const found = PRODUCT.filter(({ path }) => !path.includes('/languages/')).flatMap(({ path, text }) => {
      const comments = [...text.matchAll(/\/\*[\s\S]*?\*\/|(?<=^|[ \t])\/\/.*$/gm)].map(([comment]) =>
        comment
          .replace(/^\s*\/?\*+\/?|^\/\/|\*\/$/gm, ' ')
          .replace(/\s+/g, ' ')
          .trim(),
      );
      const messages = [...text.matchAll(/(['"`])(?:[^'"`\\\n]|\\.)*\1/g)].map(([literal]) => literal.slice(1, -1));
      return [...comments, ...messages].filter((line) => opening.test(line)).map((line) => `${path}: ${line}`);
    });
    expect(found).toEqual([]);
  });

  it('unfinished work and silenced checks', () => {
    const found = [...PRODUCT, ...others].flatMap(({ path, lines }) =>
      lines.filter((line) => /\b(?:TODO|FIXME)\b|@ts-(?:ignore|nocheck)/.test(line)).map((line) => `${path}: ${line}`),
    );
    expect(found).toEqual([]);
  });
});
