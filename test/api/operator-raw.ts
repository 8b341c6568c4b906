/** The operator API as a program without our client sees it: any request, and the answer as it is. */
import { readFile } from 'node:fs/promises';
import { type Agent, request } from 'node:http';
import { join } from 'node:path';
import { expect } from 'vitest';
import { type Method, OPERATOR, OperatorFile, type Params, type Result } from '../../daemon/contract/operator.ts';

type RawAnswer = { status: number; headers: Record<string, string | string[] | undefined>; body: unknown };

export async function operatorFile(dataDir: string): Promise<OperatorFile> {
  return OperatorFile.parse(JSON.parse(await readFile(join(dataDir, 'operator.json'), 'utf8')));
}

/** Sends exactly these headers, `host` included, and this body. */
export function send(
  file: OperatorFile,
  path: string,
  options: { method?: string; headers?: Record<string, string>; body?: string | Buffer; agent?: Agent },
): Promise<RawAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<RawAnswer>();
  const url = new URL(file.url);
  const call = request(
    {
      ...(file.socket === null ? { host: url.hostname, port: url.port } : { socketPath: file.socket }),
      path,
      method: options.method ?? 'POST',
      headers: options.headers ?? {},
      agent: options.agent ?? false,
    },
    (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('end', () => {
        const body: unknown = JSON.parse(Buffer.concat(parts).toString('utf8'));
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body });
      });
    },
  );
  call.once('error', reject);
  call.end(options.body);
  return promise;
}

/** The headers that are right. */
export const rightHeaders = (file: OperatorFile): Record<string, string> => ({
  authorization: `Bearer ${file.token}`,
  'content-type': 'application/json',
});

/** A caller that takes only answers that are the contract's, with nothing beyond it. */
export function strictCaller(dataDir: string) {
  return async <M extends Method>(method: M, params: Params<M>): Promise<Result<M>> => {
    const file = await operatorFile(dataDir);
    const { status, body } = await send(file, `/operator/v1/${method}`, {
      headers: rightHeaders(file),
      body: JSON.stringify(params),
    });
    expect(status, JSON.stringify(body)).toBe(200);
    const result = OPERATOR[method].result.parse(body);
    expect(result).toEqual(body);
    return result as Result<M>;
  };
}

/** The status and error of a call that is refused. */
export async function refusal<M extends Method>(dataDir: string, method: M, params: Params<M>) {
  const file = await operatorFile(dataDir);
  const answer = await send(file, `/operator/v1/${method}`, {
    headers: rightHeaders(file),
    body: JSON.stringify(params),
  });
  const { error } = answer.body as { error: { code: string; message: string; field?: string } };
  return { status: answer.status, code: error.code, field: error.field, message: error.message };
}
