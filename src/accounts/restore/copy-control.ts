import type { Databases } from '../../postgres/databases.ts'
import type { DumpPrograms } from '../../postgres/dump/find-programs.ts'
import { loginEnvironment } from '../../postgres/dump/programs-login.ts'
import { pipePrograms } from '../../postgres/dump/run-program.ts'
import { inWorkFolder } from '../../postgres/dump/work-folder.ts'
import { firstHostId, type Host } from '../../postgres/hosts.ts'
import { backupHostId } from './saved-user.ts'

/** Copies the control database. It has no code of tenants, so the administrator may run what is in it. */
export async function copyControl(
  { hosts }: Databases,
  { dump, restore }: DumpPrograms,
  { from, to }: Readonly<{ from: string; to: string }>,
  signal: AbortSignal,
): Promise<void> {
  await inWorkFolder(async (folder) => {
    const login = (host: Host, database: string) =>
      loginEnvironment({ host, database, role: host.adminRole, password: host.adminPassword }, folder)
    await pipePrograms(
      { path: dump, args: dumpArguments, env: await login(hosts.get(backupHostId), from), signal },
      {
        path: restore,
        args: [...restoreArguments, `--dbname=${to}`],
        env: await login(hosts.get(firstHostId), to),
        signal,
      },
      () => undefined,
    )
  })
}

/** Unlogged tables hold what is true of one run of a server only. */
const dumpArguments = ['--format=custom', '--compress=0', '--no-password', '--no-unlogged-table-data']
const restoreArguments = ['--no-owner', '--no-privileges', '--exit-on-error', '--no-password']
