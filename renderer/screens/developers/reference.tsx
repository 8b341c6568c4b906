/** The calls of the merchant and browser APIs, from their OpenAPI document. */
import { type ReactNode, useState } from 'react';
import { useCall } from '../../data.tsx';
import { Answer, Section } from '../../parts/parts.tsx';
import { Code } from './connect.tsx';
import type { T } from './developers.tsx';
import { TryIt } from './try-it.tsx';

type Parameter = {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema?: { enum?: string[] };
};
export type Operation = {
  operationId?: string;
  summary?: string;
  description?: string;
  parameters?: Parameter[];
  requestBody?: { content?: Record<string, { example?: unknown; examples?: Record<string, { value?: unknown }> }> };
  responses?: Record<string, { description?: string }>;
};
type Path = Record<string, Operation> & { parameters?: Parameter[] };
type Document = { paths: Record<string, Path> };

const VERBS = ['get', 'post', 'put', 'patch', 'delete'];
const JSON_TYPE = 'application/json';

function exampleOf({ requestBody }: Operation): unknown {
  const content = requestBody?.content?.[JSON_TYPE];
  return content?.example ?? Object.values(content?.examples ?? {})[0]?.value;
}

export function Reference({ t }: { t: T }): ReactNode {
  const found = useCall('api.show', {});
  const url = useCall('status', {}).data?.url ?? '';
  return (
    <Answer of={found}>
      {({ document }) => (
        <Section title={t('reference')} note={`${url}/api/v1/openapi.json`}>
          {Object.entries((document as unknown as Document).paths).flatMap(
            ([path, { parameters = [], ...operations }]) =>
              Object.entries(operations)
                .filter(([verb]) => VERBS.includes(verb))
                .map(([verb, operation]) => (
                  <Call
                    key={`${verb} ${path}`}
                    verb={verb}
                    path={path}
                    operation={{ ...operation, parameters: [...parameters, ...(operation.parameters ?? [])] }}
                    url={url}
                    t={t}
                  />
                )),
          )}
        </Section>
      )}
    </Answer>
  );
}

function Answers({ responses, t }: { responses: NonNullable<Operation['responses']>; t: T }): ReactNode {
  return (
    <>
      <p className="quiet">{t('answers')}</p>
      <ul className="reference-answers">
        {Object.entries(responses).map(([status, { description }]) => (
          <li key={status}>
            <span className="mono">{status}</span> {description}
          </li>
        ))}
      </ul>
    </>
  );
}

type CallProps = { verb: string; path: string; operation: Operation; url: string; t: T };

function Call({ verb, path, operation, url, t }: CallProps): ReactNode {
  const [open, setOpen] = useState(false);
  const example = exampleOf(operation);
  const browser = path.startsWith('/sdk');
  const login = browser ? '-H "MB-CLIENT-ID: $CLIENT_ID"' : '-H "MB-API-KEY: $API_KEY"';
  const body =
    verb === 'get' || verb === 'delete'
      ? ''
      : ` -H "Content-Type: application/json" -d '${JSON.stringify(example ?? {})}'`;
  return (
    <details className="reference" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <span className="mono verb">{verb.toUpperCase()}</span> <span className="mono">{path}</span>{' '}
        <span className="quiet">{operation.summary}</span>
      </summary>
      {operation.description && <p>{operation.description}</p>}
      <p className="quiet">{t('example')}</p>
      <Code text={`curl -X ${verb.toUpperCase()} ${url}/api/v1${path} ${login}${body}`} />
      {open && (
        <>
          <Answers responses={operation.responses ?? {}} t={t} />
          <TryIt operation={operation} example={body === '' ? null : (example ?? {})} browser={browser} t={t} />
        </>
      )}
    </details>
  );
}
