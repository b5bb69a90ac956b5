import type { FC } from 'hono/jsx';
import { z } from 'zod';
import { PASSWORD } from '../auth-instance.ts';
import type { ApiFlaw } from './call.ts';
import { flawOf, TextField, type Typed } from './form.tsx';

const NAME_LENGTH = 100;

/** What a person types to make an account; what is wrong with it, field by field. */
export function readNewAccount(typed: Typed): {
  readonly name: string;
  readonly email: string;
  readonly password: string;
  readonly errors: readonly ApiFlaw[];
} {
  const { name = '', email = '', password = '' } = typed;
  const account = { name: name.trim(), email: email.trim().toLowerCase(), password };
  return { ...account, errors: [...nameFlaws(name), ...emailFlaws(email), ...passwordFlaws(password)] };
}

export function nameFlaws(name: string): readonly ApiFlaw[] {
  const length = name.trim().length;
  if (length === 0) return [{ path: 'name', message: 'say who you are: others see it' }];
  return length > NAME_LENGTH ? [{ path: 'name', message: `at most ${NAME_LENGTH} characters` }] : [];
}

export function emailFlaws(email: string): readonly ApiFlaw[] {
  const isOne = z.email().max(254).safeParse(email.trim()).success;
  return isOne ? [] : [{ path: 'email', message: 'write one address, such as ada@example.org' }];
}

export function passwordFlaws(password: string, path = 'password'): readonly ApiFlaw[] {
  if (password.length < PASSWORD.min) return [{ path, message: `at least ${PASSWORD.min} characters` }];
  return password.length > PASSWORD.max ? [{ path, message: `at most ${PASSWORD.max} characters` }] : [];
}

/** The fields of it. Without `email`, its address is known. */
export const NewAccountFields: FC<{ typed: Typed; errors: readonly ApiFlaw[]; email: boolean; hint?: string }> = ({
  typed,
  errors,
  email,
  hint,
}) => (
  <>
    <TextField
      name="name"
      label="Name"
      value={typed['name']}
      flaw={flawOf(errors, 'name')}
      autocomplete="name"
      required
    />
    {email ? (
      <TextField
        name="email"
        label="E-mail"
        type="email"
        value={typed['email']}
        flaw={flawOf(errors, 'email')}
        autocomplete="username"
        required
      />
    ) : null}
    <TextField
      name="password"
      label="Password"
      type="password"
      hint={hint ?? `At least ${PASSWORD.min} characters. A few random words are easy to keep and hard to guess.`}
      flaw={flawOf(errors, 'password')}
      autocomplete="new-password"
      required
    />
  </>
);
