import { createHash } from 'node:crypto';
import { html, raw } from 'hono/html';

/** As much of an OpenAPI document as the page shows. */
export type ShownDocument = {
  readonly info: { readonly title: string; readonly version: string; readonly description?: string | undefined };
  readonly paths?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly components?: { readonly schemas?: Readonly<Record<string, unknown>> };
};

type Shown = ReturnType<typeof html>;
type Operation = {
  readonly tags?: readonly string[];
  readonly operationId?: string;
  readonly summary?: string;
  readonly description?: string;
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly description?: string;
    readonly schema?: { readonly description?: string };
  }[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: Content }>>;
};
type Content = Readonly<Record<string, { readonly schema?: unknown }>>;

const STYLE = `
:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
h2{margin-top:2.5rem;border-bottom:1px solid #8886}
h3{margin:2rem 0 .25rem}
code,pre{font:14px/1.45 ui-monospace,monospace}
pre{overflow:auto;padding:.75rem;background:#8881;border-radius:.25rem}
table{border-collapse:collapse;margin:.5rem 0}
td{padding:.2rem 1rem .2rem 0;vertical-align:top}
nav a{margin-right:1rem}
`;

/** Nothing but the style below may be loaded, and nothing run. */
export const DOCS_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** The document as a page to read: every call by tag, then the shapes. */
export function docsPage({ info, paths = {}, components }: ShownDocument): Shown {
  const calls = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation: operation as Operation })),
  );
  const tags = [...new Set(calls.map(({ operation }) => operation.tags?.[0] ?? ''))];
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${info.title}</title>
<style>${raw(STYLE)}</style>
</head>
<body>
<h1>${info.title} <small>${info.version}</small></h1>
<p>${info.description ?? ''}</p>
<p>The same as a document for programs: <a href="openapi.json">openapi.json</a>.</p>
<nav>${tags.map((tag) => html`<a href="#${tag}">${tag}</a>`)}<a href="#shapes">Shapes</a></nav>
${tags.map(
  (tag) => html`<h2 id="${tag}">${tag}</h2>
${calls.filter(({ operation }) => operation.tags?.[0] === tag).map(callSection)}`,
)}
<h2 id="shapes">Shapes</h2>
${Object.entries(components?.schemas ?? {}).map(
  ([name, schema]) => html`<h3 id="shape-${name}">${name}</h3>
<pre>${JSON.stringify(schema, null, 2)}</pre>`,
)}
</body>
</html>`;
}

function callSection({ path, method, operation }: { path: string; method: string; operation: Operation }): Shown {
  const body = Object.values(operation.requestBody?.content ?? {})[0]?.schema;
  const parameters = operation.parameters ?? [];
  return html`<h3 id="${operation.operationId}"><code>${method.toUpperCase()} ${path}</code></h3>
<p>${operation.summary}${operation.description === undefined ? '' : `. ${operation.description}`}</p>
${
  parameters.length === 0
    ? ''
    : html`<table>${parameters.map(
        (parameter) => html`<tr>
<td><code>${parameter.name}</code></td><td>${parameter.in}</td>
<td>${parameter.description ?? parameter.schema?.description ?? ''}</td></tr>`,
      )}</table>`
}
${body === undefined ? '' : html`<p>Body: ${shapeOf(body)}</p>`}
<table>${Object.entries(operation.responses).map(
    ([status, answer]) => html`<tr>
<td><code>${status}</code></td><td>${answer.description}</td>
<td>${shapeOf(Object.values(answer.content ?? {})[0]?.schema)}</td></tr>`,
  )}</table>`;
}

/** A named shape as a link; any other in short. */
function shapeOf(schema: unknown): Shown | string {
  if (typeof schema !== 'object' || schema === null) return '';
  const { $ref: ref, properties } = schema as { $ref?: string; properties?: Record<string, { items?: unknown }> };
  if (ref !== undefined) {
    const name = ref.split('/').at(-1) ?? '';
    return html`<a href="#shape-${name}">${name}</a>`;
  }
  const items = Object.entries(properties ?? {}).find(([, property]) => property.items !== undefined);
  if (items) return html`<code>${items[0]}</code>: list of ${shapeOf(items[1].items)}, <code>next_cursor</code>`;
  return html`<code>${JSON.stringify(schema)}</code>`;
}
