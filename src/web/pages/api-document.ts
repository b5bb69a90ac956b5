/** As much of a JSON Schema as the reference shows. */
export type Schema = {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly format?: string;
  readonly description?: string;
  readonly example?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
};

type Content = Readonly<Record<string, { readonly schema?: Schema }>>;

/** One call of an OpenAPI document. */
export type Operation = {
  readonly tags?: readonly string[];
  readonly operationId?: string;
  readonly summary?: string;
  readonly description?: string;
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly description?: string;
    readonly schema?: Schema;
  }[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: Content }>>;
};

/** As much of an OpenAPI 3.1 document as the reference shows. */
export type ApiDocument = {
  readonly info: { readonly title: string; readonly description?: string };
  readonly paths?: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> };
};

/** Every call, in the order of the document. */
export function callsOf({ paths = {} }: ApiDocument): readonly {
  readonly path: string;
  readonly method: string;
  readonly operation: Operation;
}[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
}

/** A type in words: `string (date-time)`, `"run" or "skip"`, `integer or null`. */
export function typeText(schema: Schema): string {
  if (schema.$ref) return schema.$ref.split('/').at(-1) ?? '';
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' or ');
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return [...new Set(choices.map(typeText))].join(' or ');
  if (schema.items) return `list of ${typeText(schema.items)}`;
  const types = [schema.type ?? 'any'].flat().join(' or ');
  return schema.format ? `${types} (${schema.format})` : types;
}

/** A body made of the document's examples: its required fields, and the first choice where there are several. */
export function exampleBody(document: ApiDocument, schema: Schema): unknown {
  if (schema.$ref) {
    const named = document.components?.schemas?.[schema.$ref.split('/').at(-1) ?? ''];
    return named ? exampleBody(document, named) : {};
  }
  if (schema.example !== undefined) return schema.example;
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  const [choice] = schema.anyOf ?? schema.oneOf ?? [];
  if (choice) return exampleBody(document, choice);
  if (schema.items) return [exampleBody(document, schema.items)];
  if (schema.properties) {
    const required = Object.entries(schema.properties).filter(([name]) => schema.required?.includes(name));
    return Object.fromEntries(required.map(([name, field]) => [name, exampleBody(document, field)]));
  }
  return schema.type === 'integer' || schema.type === 'number' ? 1 : schema.type === 'boolean' ? true : '…';
}
