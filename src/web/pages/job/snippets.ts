import type { JobDefinition } from '../../../core/definition.ts';
import { onCalendar } from './on-calendar.ts';
import { CURL } from './pay.ts';

/** A way to report: what it is for, and text to paste. */
export type Snippet = {
  readonly id: string;
  readonly name: string;
  readonly says: string;
  readonly text: string;
};

/** What snippets are written for. `pingUrl` without a trailing slash; `url`: of Rollcall. */
export type SnippetContext = {
  readonly slug: string;
  readonly definition: Pick<JobDefinition, 'name' | 'zone' | 'schedules' | 'missedRuns'>;
  readonly pingUrl: string;
  readonly url: string;
};

/** All snippets of a job (docs/pinging.md and docs/exec.md). Each but `exec` tells how the run ended, and lets it come again. */
export function snippetsOf(context: SnippetContext): readonly Snippet[] {
  return [curl, crontab, wget, python, node, powershell, systemd, kubernetes, github, exec].map((make) =>
    make(context),
  );
}

/** The command stands for the reader's own. */
const commandOf = ({ slug }: SnippetContext): string => `/usr/local/bin/${slug}`;

/** The first cron expression; null: the job is not scheduled by one. */
function cronOf({ definition }: SnippetContext): string | null {
  const found = definition.schedules.find((spec) => 'cron' in spec);
  return found && 'cron' in found ? found.cron.trim().replace(/[ \t]+/g, ' ') : null;
}

const curl = (context: SnippetContext): Snippet => ({
  id: 'curl',
  name: 'curl',
  says: 'A shell script: it begins, runs, and reports how that ended, with the output.',
  text: `url=${context.pingUrl}
${CURL} "$url/start"
output=$(${commandOf(context)} 2>&1)
${CURL} --data-raw "$output" "$url/$?"`,
});

const crontab = (context: SnippetContext): Snippet => {
  const { definition, pingUrl } = context;
  const lines = definition.schedules.map((spec) => ('cron' in spec ? spec.cron.trim() : null));
  const line = (cron: string): string => `${cron}  ${commandOf(context)}; ${CURL} ${pingUrl}/$?`;
  const own = lines.filter((cron) => cron !== null);
  const zone = `# cron must read this in ${definition.zone}: CRON_TZ where it knows that, else the clock of the host`;
  return {
    id: 'crontab',
    name: 'crontab',
    says: 'One line: it reports the exit code. In a crontab % is written \\%.',
    text: own.length > 0 ? [zone, ...own.map(line)].join('\n') : `# put your own times here\n${line('0 * * * *')}`,
  };
};

const WGET = 'wget -q -T 10 -t 5 --retry-connrefused --retry-on-http-error=429,503 -O /dev/null';

const wget = (context: SnippetContext): Snippet => ({
  id: 'wget',
  name: 'wget',
  says: 'For hosts without curl.',
  text: `url=${context.pingUrl}
${WGET} "$url/start"
${commandOf(context)}
${WGET} "$url/$?"`,
});

const python = (context: SnippetContext): Snippet => ({
  id: 'python',
  name: 'Python',
  says: 'Python 3, nothing to install. What can be sent again is sent again; a run never fails because of its monitor.',
  text: `import subprocess
import sys
import time
import urllib.error
import urllib.request

URL = "${context.pingUrl}"


def ping(what, body=b""):
    for wait in (1, 2, 4, 8, 16, 0):
        try:
            urllib.request.urlopen(URL + what, data=body, timeout=10).close()
            return
        except urllib.error.HTTPError as error:
            if error.code in (400, 404, 422):
                break
        except OSError:
            pass
        time.sleep(wait)
    print("not reported:", what, file=sys.stderr)


ping("/start")
run = subprocess.run(["${commandOf(context)}"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
code = run.returncode if run.returncode >= 0 else 128 - run.returncode
ping(f"/{code}", run.stdout)
sys.exit(code)`,
});

const node = (context: SnippetContext): Snippet => ({
  id: 'node',
  name: 'Node',
  says: 'Node 18 or later, as a module (.mjs), nothing to install.',
  text: `import { spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';

const url = '${context.pingUrl}';

async function ping(what, body) {
  for (const wait of [1, 2, 4, 8, 16, 0]) {
    const signal = AbortSignal.timeout(10_000);
    const answer = await fetch(url + what, { method: 'POST', body, signal }).catch(() => null);
    if (answer?.ok) return;
    if ([400, 404, 422].includes(answer?.status)) break;
    await sleep(wait * 1000);
  }
  console.error('not reported:', what);
}

await ping('/start');
const run = spawnSync('${commandOf(context)}', { encoding: 'utf8', maxBuffer: 1e8 });
const code = run.status ?? 255;
await ping(\`/\${code}\`, \`\${run.stdout ?? ''}\${run.stderr ?? ''}\`);
process.exit(code);`,
});

const powershell = (context: SnippetContext): Snippet => ({
  id: 'powershell',
  name: 'PowerShell',
  says: 'Windows PowerShell 5.1 and PowerShell 7, for a task of the Task Scheduler.',
  text: `$Url = '${context.pingUrl}'

function Send-Ping([string]$What, [string]$Body = '') {
  foreach ($Wait in 1, 2, 4, 8, 16, 0) {
    try {
      Invoke-WebRequest -UseBasicParsing -Method Post -TimeoutSec 10 -Uri "$Url$What" -Body $Body | Out-Null
      return
    } catch {
      if (400, 404, 422 -contains [int]$_.Exception.Response.StatusCode) { break }
      Start-Sleep -Seconds $Wait
    }
  }
  Write-Warning "not reported: $What"
}

Send-Ping '/start'
$Output = & 'C:\\Jobs\\${context.slug}.exe' 2>&1 | Out-String
if ($LASTEXITCODE -eq 0) { Send-Ping '/0' $Output } else { Send-Ping '/fail' $Output }`,
});

const systemd = (context: SnippetContext): Snippet => {
  const { slug, definition, pingUrl } = context;
  const cron = cronOf(context);
  const when = (cron === null ? null : onCalendar(cron, definition.zone)) ?? null;
  // systemd makes up for one missed start after the host was down: wrong where a late run is worse than none.
  const isPersistent = definition.missedRuns !== 'skip';
  return {
    id: 'systemd',
    name: 'systemd',
    says: 'A service and the timer that starts it. Its end is reported however it ends; that it could not be reported stops nothing.',
    text: `# /etc/systemd/system/${slug}.service
[Unit]
Description=${definition.name.replaceAll('%', '%%')}

[Service]
Type=oneshot
Environment=PING_URL=${pingUrl}
ExecStartPre=-/usr/bin/${CURL} \${PING_URL}/start
ExecStart=${commandOf(context)}
ExecStopPost=-/bin/sh -c 'case "$$EXIT_STATUS" in ""|*[!0-9]*) end=fail;; *) end=$$EXIT_STATUS;; esac; exec ${CURL} "$$PING_URL/$$end"'

# /etc/systemd/system/${slug}.timer
[Timer]
${when === null ? `# ${cron === null ? 'write when it runs' : `write ${cron} the way systemd does`}: man systemd.time\nOnCalendar=hourly` : `OnCalendar=${when}`}
Persistent=${isPersistent}

[Install]
WantedBy=timers.target`,
  };
};

const kubernetes = (context: SnippetContext): Snippet => {
  const { slug, definition, pingUrl } = context;
  const name = slug.replaceAll('_', '-').replace(/^-+/, '').slice(0, 52).replace(/-+$/, '');
  return {
    id: 'kubernetes',
    name: 'Kubernetes',
    says: 'A CronJob whose image has sh and curl. A new pod for each run, and none beside another.',
    text: `apiVersion: batch/v1
kind: CronJob
metadata:
  name: ${name}
spec:
  schedule: "${cronOf(context) ?? '0 * * * *'}"${cronOf(context) === null ? '  # put your own times here' : ''}
  timeZone: ${definition.zone}
  concurrencyPolicy: Forbid
  jobTemplate:
    spec:
      backoffLimit: 0
      template:
        spec:
          restartPolicy: Never
          containers:
            - name: job
              image: registry.example.com/${name}
              env:
                - name: PING_URL
                  value: ${pingUrl}
              command: [sh, -c]
              args:
                - |
                  report() { ${CURL} "$PING_URL/$1"; }
                  report start
                  end=0
                  ${commandOf(context)} || end=$?
                  report $end
                  exit $end`,
  };
};

const github = (context: SnippetContext): Snippet => {
  const { definition, pingUrl } = context;
  const zone = definition.zone === 'UTC' ? '' : `, this job is in ${definition.zone}`;
  return {
    id: 'github',
    name: 'GitHub Actions',
    says: 'Keep the address as a secret of the repository. GitHub begins scheduled runs late, often by many minutes: give the job enough grace.',
    text: `# secret ROLLCALL_PING_URL: ${pingUrl}
on:
  schedule:
    - cron: "${cronOf(context) ?? '0 * * * *'}"  # GitHub reads this in UTC${zone}
jobs:
  run:
    runs-on: ubuntu-latest
    env:
      PING_URL: \${{ secrets.ROLLCALL_PING_URL }}
    steps:
      - run: ${CURL} "$PING_URL/start"
        continue-on-error: true
      - uses: actions/checkout@v4
      - run: ./${context.slug}.sh
      - if: always()
        run: ${CURL} "$PING_URL/\${{ job.status == 'success' && '0' || 'fail' }}"`,
  };
};

const exec = (context: SnippetContext): Snippet => ({
  id: 'exec',
  name: 'rollcall exec',
  says: 'It asks what is owed, runs the command once for each occurrence, and reports each. It runs the command even while Rollcall is away, and keeps the news for later.',
  text: `# crontab
ROLLCALL_URL=${context.url}
ROLLCALL_API_KEY=...
${cronOf(context) ?? '0 * * * *'}  rollcall-exec ${context.slug} -- ${commandOf(context)}`,
});
