import type { FC } from 'hono/jsx';
import { Refusal, TextField } from '../form.tsx';
import { QrCode } from '../qr.tsx';
import { Secret } from '../secret.tsx';

/** The secret for an authenticator app, and the codes for the day it is lost. Nothing is on until a code was right. */
export const StartTotp: FC<{ uri: string; codes: readonly string[] }> = ({ uri, codes }) => (
  <>
    <h1>Second factor</h1>
    <section class="stack-s">
      <h2>1. Scan</h2>
      <p>Scan this with an authenticator app, or type the secret into it.</p>
      <QrCode text={uri} label="QR code of the secret below" />
      <Secret id="totp-secret" label="Secret" value={new URL(uri).searchParams.get('secret') ?? ''} />
      <p>
        <a href={uri}>Open it in an app on this device</a>
      </p>
    </section>
    <section class="stack-s">
      <h2>2. Keep the backup codes</h2>
      <p>Where you find them without your telephone. Each opens the door once.</p>
      <Secret id="backup-codes" label="Backup codes" value={codes.join('\n')} />
    </section>
    <section class="stack-s">
      <h2>3. Prove that it works</h2>
      <CodeForm />
    </section>
  </>
);

/** Asked again after a code that was wrong: the secret is in the app already. */
export const ConfirmTotp: FC<{ refusal: string }> = ({ refusal }) => (
  <>
    <h1>Second factor</h1>
    <Refusal detail={refusal} />
    <CodeForm />
    <p>
      <a href="/account">Begin again</a>
    </p>
  </>
);

const CodeForm: FC = () => (
  <form method="post" action="/account/totp/confirm" class="stack">
    <TextField name="code" label="The six digits it shows now" autocomplete="one-time-code" required />
    <p>
      <button type="submit" class="main">
        Switch it on
      </button>
    </p>
  </form>
);

export const BackupCodes: FC<{ codes: readonly string[] }> = ({ codes }) => (
  <>
    <h1>Backup codes</h1>
    <p>Shown this once. The old ones open nothing any more; each of these opens the door once.</p>
    <Secret id="backup-codes" label="Backup codes" value={codes.join('\n')} />
    <p>
      <a href="/account">Done</a>
    </p>
  </>
);
