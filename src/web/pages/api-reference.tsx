import { Hono } from 'hono';
import type { Child, FC } from 'hono/jsx';
import { type ApiDocument, callsOf, exampleBody, type Operation, type Schema, typeText } from './api-document.ts';
import type { PageDeps } from './deps.ts';
import { answerPage, Page } from './page.tsx';

/**
 * The reference of the API, from the same document as programs read (/api/v1/openapi.json). Made here and not by one of the
 * well-known viewers, because they want inline styles and a script of a megabyte; this one is read without any.
 */
export function apiReferencePages(deps: PageDeps): Hono {
  return new Hono().get('/api/v1/docs', async (c) => {
    const answer = await deps.api.request('/openapi.json');
    const document = (await answer.json()) as ApiDocument;
    const viewer = await deps.readViewer(c).catch(() => null);
    return answerPage(
      c,
      <Page title="API" assets={deps.assets} viewer={viewer ?? undefined}>
        <Reference document={document} publicUrl={deps.publicUrl} />
      </Page>,
    );
  });
}

const Reference: FC<{ document: ApiDocument; publicUrl: string }> = ({ document, publicUrl }) => {
  const calls = callsOf(document);
  const tags = [...new Set(calls.map(({ operation }) => operation.tags?.[0] ?? ''))];
  const shapes = Object.entries(document.components?.schemas ?? {});
  return (
    <div class="docs">
      <nav aria-label="API">
        <ul class="bare stack-s">
          {tags.map((tag) => (
            <li>
              <a class="plain" href={`#${anchorOf(tag)}`}>
                {tag}
              </a>
            </li>
          ))}
          <li>
            <a class="plain" href="#shapes">
              Shapes
            </a>
          </li>
        </ul>
      </nav>
      <div class="stack-l">
        <header class="stack-s">
          <h1>{document.info.title}</h1>
          <p>{document.info.description}</p>
          <p>
            For programs: <a href="/api/v1/openapi.json">openapi.json</a> (OpenAPI 3.1). What the shapes cannot say:{' '}
            <a href="/docs/api">about the API</a>.
          </p>
        </header>
        {tags.map((tag) => (
          <section class="stack-s" id={anchorOf(tag)}>
            <h2>{tag}</h2>
            <div class="card flush calls">
              {calls
                .filter(({ operation }) => (operation.tags?.[0] ?? '') === tag)
                .map(({ path, method, operation }) => (
                  <Call path={path} method={method} operation={operation} document={document} publicUrl={publicUrl} />
                ))}
            </div>
          </section>
        ))}
        <section class="stack-s" id="shapes">
          <h2>Shapes</h2>
          <div class="card flush calls">
            {shapes.map(([name, schema]) => (
              <details id={`shape-${name}`}>
                <summary>
                  <strong>{name}</strong> <span class="soft">{schema.description ?? ''}</span>
                </summary>
                <Fields schema={schema} />
              </details>
            ))}
          </div>
        </section>
      </div>
    </div>
  );
};

const anchorOf = (tag: string): string => `about-${tag.toLowerCase().replaceAll(/\W+/g, '-')}`;

const Call: FC<{ path: string; method: string; operation: Operation; document: ApiDocument; publicUrl: string }> = ({
  path,
  method,
  operation,
  document,
  publicUrl,
}) => {
  const body = Object.values(operation.requestBody?.content ?? {})[0]?.schema;
  const parameters = operation.parameters ?? [];
  return (
    <details id={operation.operationId}>
      <summary>
        <code class="method">{method.toUpperCase()}</code> <code>{path}</code>{' '}
        <span class="soft">{operation.summary}</span>
      </summary>
      <div class="stack">
        {operation.description === undefined ? null : <p>{operation.description}</p>}
        {parameters.length === 0 ? null : (
          <Rows heads={['Parameter', 'In', '']}>
            {parameters.map((parameter) => (
              <tr>
                <th scope="row" class="tight">
                  <code>{parameter.name}</code>
                </th>
                <td class="tight soft">{parameter.in}</td>
                <td>{parameter.description ?? parameter.schema?.description ?? ''}</td>
              </tr>
            ))}
          </Rows>
        )}
        {body === undefined ? null : (
          <div class="stack-s">
            <h3>
              Body: <Shape schema={body} />
            </h3>
          </div>
        )}
        <pre tabindex={0}>
          <code>{curlText(publicUrl, method, path, body && exampleBody(document, body))}</code>
        </pre>
        <Rows heads={['Answer', '', '']}>
          {Object.entries(operation.responses).map(([status, answer]) => (
            <tr>
              <th scope="row" class="tight num">
                {status}
              </th>
              <td>{answer.description}</td>
              <td class="tight">
                <Shape schema={Object.values(answer.content ?? {})[0]?.schema} />
              </td>
            </tr>
          ))}
        </Rows>
      </div>
    </details>
  );
};

const Rows: FC<{ heads: readonly string[]; children?: Child }> = ({ heads, children }) => (
  <table>
    <thead>
      <tr>{heads.map((head) => (head === '' ? <td /> : <th scope="col">{head}</th>))}</tr>
    </thead>
    <tbody>{children}</tbody>
  </table>
);

/** The fields of a shape; of a choice, each one's. */
const Fields: FC<{ schema: Schema }> = ({ schema }) => {
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices?.some(({ properties }) => properties)) {
    return (
      <div class="stack">
        {choices.map((choice, index) => (
          <div class="stack-s">
            <h3>{index === 0 ? 'Either' : 'or'}</h3>
            <Fields schema={choice} />
          </div>
        ))}
      </div>
    );
  }
  const properties = Object.entries(schema.properties ?? {});
  if (properties.length === 0) return <p class="mono">{typeText(schema)}</p>;
  const required = new Set(schema.required ?? []);
  return (
    <Rows heads={['Field', 'Type', '']}>
      {properties.map(([name, field]) => (
        <tr>
          <th scope="row" class="tight">
            <code>{name}</code>
            {required.has(name) ? '' : <span class="soft"> ?</span>}
          </th>
          <td>
            <Shape schema={field} />
          </td>
          <td>
            {field.description ?? ''}
            {field.example === undefined ? null : (
              <>
                {' '}
                <span class="soft">
                  e.g. <code>{typeof field.example === 'string' ? field.example : JSON.stringify(field.example)}</code>
                </span>
              </>
            )}
          </td>
        </tr>
      ))}
    </Rows>
  );
};

/** A named shape as a link, any other in words. */
const Shape: FC<{ schema: Schema | undefined }> = ({ schema }) => {
  if (schema === undefined) return null;
  const name = schema.$ref?.split('/').at(-1);
  if (name !== undefined) return <a href={`#shape-${name}`}>{name}</a>;
  const list = Object.entries(schema.properties ?? {}).find(([, field]) => field.items?.$ref !== undefined);
  if (list && schema.properties && 'next_cursor' in schema.properties)
    return (
      <>
        <code>{list[0]}</code>: list of <Shape schema={list[1].items} />
      </>
    );
  if (schema.items)
    return (
      <>
        list of <Shape schema={schema.items} />
      </>
    );
  return <span class="mono">{typeText(schema)}</span>;
};

function curlText(publicUrl: string, method: string, path: string, body: unknown): string {
  const flags = method === 'get' ? '' : ` -X ${method.toUpperCase()}`;
  const url = `${publicUrl}/api/v1${path.replaceAll(/\{(\w+)\}/g, (_, name: string) => name.toUpperCase())}`;
  const lines = [`curl -fsS${flags} ${url}`, '-H "Authorization: Bearer $ROLLCALL_API_KEY"'];
  if (body !== undefined) lines.push("-H 'Content-Type: application/json'", `-d '${JSON.stringify(body)}'`);
  return lines.join(' \\\n  ');
}
