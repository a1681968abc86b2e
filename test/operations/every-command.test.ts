import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { type ServiceCommandName, serviceCommandNames } from '../../src/cli/service-commands.ts'
import { type AdminClient, createAdminClient } from '../../src/client/client.ts'
import { type OperationId, operations } from '../../src/contract/operations.ts'

/** Each command of the operator: its operation in the admin API, and the function of the client that calls it. */
const everywhere: Readonly<Record<string, readonly [OperationId, (client: AdminClient) => unknown]>> = {
  'user create': ['createUser', ({ users }) => users.create],
  'user list': ['listUsers', ({ users }) => users.list],
  'user show': ['readUser', ({ users }) => users.read],
  'user reset-key': ['regenerateMasterKey', ({ users }) => users.regenerateKey],
  'user keys': ['listUserKeys', ({ users }) => users.keys],
  'user suspend': ['suspendUser', ({ users }) => users.suspend],
  'user resume': ['resumeUser', ({ users }) => users.resume],
  'user set': ['changeUser', ({ users }) => users.change],
  'user move': ['moveUser', ({ users }) => users.move],
  'user delete': ['deleteUser', ({ users }) => users.delete],
  'plan create': ['createPlan', ({ plans }) => plans.create],
  'plan set': ['changePlan', ({ plans }) => plans.change],
  'plan list': ['listPlans', ({ plans }) => plans.list],
  'plan delete': ['deletePlan', ({ plans }) => plans.delete],
  'org create': ['createOrganization', ({ organizations }) => organizations.create],
  'org list': ['listOrganizations', ({ organizations }) => organizations.list],
  'org move': ['moveOrganization', ({ organizations }) => organizations.move],
  'org delete': ['deleteOrganization', ({ organizations }) => organizations.delete],
  'host add': ['addHost', ({ hosts }) => hosts.add],
  'host list': ['listHosts', ({ hosts }) => hosts.list],
  'host set': ['changeHost', ({ hosts }) => hosts.change],
  'host drain': ['drainHost', ({ hosts }) => hosts.drain],
  'host remove': ['removeHost', ({ hosts }) => hosts.remove],
  'host replica add': ['addReplica', ({ hosts }) => hosts.replicas('local').add],
  'host replica list': ['listReplicas', ({ hosts }) => hosts.replicas('local').list],
  'host replica remove': ['removeReplica', ({ hosts }) => hosts.replicas('local').remove],
  'move list': ['listMoves', ({ moves }) => moves.list],
  'move cancel': ['cancelMove', ({ moves }) => moves.cancel],
  restore: ['createRestore', ({ restores }) => restores.create],
  doctor: ['runDoctor', ({ doctor }) => doctor],
  activity: ['readActivity', ({ activity }) => activity],
  'activity stop': ['stopActivity', ({ stopActivity }) => stopActivity],
  usage: ['readUserUsage', ({ users }) => users.usage],
  audit: ['listAudit', ({ audit }) => audit],
}

/** What has no operation of its own in the admin API, and why. */
const byCommandOnly: Readonly<Record<string, string>> = {
  serve: 'It is the service.',
  worker: 'It is the service.',
  'plan show': 'listPlans has all of each plan, and the page of plans shows it; readPlan reads one.',
  'table share':
    'The owner does it: changePrivacy, `tables.setPrivacy` of the client, the page of the table.',
  'table unshare': 'The same.',
  repair: 'The service does it at each start and every five minutes.',
  'secret rotate': 'Every process must be restarted with the new secret.',
  backup: 'The secret of the installation is in the file: it must not be where a request can reach it.',
}

/** Operations of the admin API without a command of their own, and why. */
const withoutCommand: Readonly<Record<string, string>> = {
  readMasterKey: '`user show --key`',
  readPlan: '`plan show`',
  readOrganization: '`org list` has all of each',
  readMove: '`move list` has all of each',
  listBackups: 'The command is given the path of a file.',
  listRestores: 'The command tells how far it is.',
  readRestore: 'The same.',
  cancelRestore: 'Ctrl-C ends the command.',
  stopUserActivity: '`activity stop --user`',
}

test('what an operator does by command is in the admin API and in the client, or there is a reason', () => {
  const client = createAdminClient({ baseUrl: 'http://127.0.0.1:1', token: 'unused' })
  const commands = [...Object.keys(everywhere), ...Object.keys(byCommandOnly)]
  assert.deepEqual(commands.sort(), [...serviceCommandNames].sort() satisfies ServiceCommandName[])
  for (const [command, [operation, call]] of Object.entries(everywhere)) {
    assert.match(operations[operation][1], /^\/admin\/v1\//, command)
    assert.equal(typeof call(client), 'function', command)
  }
  client.close()
})

test('every operation of the admin API belongs to a command, or there is a reason', () => {
  const ofCommands = Object.values(everywhere).map(([operation]) => operation)
  const ofOperator = Object.entries(operations).flatMap(([id, [, path]]) =>
    path.startsWith('/admin/v1/') ? [id] : [],
  )
  assert.deepEqual([...ofCommands, ...Object.keys(withoutCommand)].sort(), ofOperator.sort())
})

test('every operation of a command is called by a page of the console', async () => {
  const root = join(import.meta.dirname, '../../console')
  const api = await readFile(join(root, 'api/operator.ts'), 'utf8')
  const pages = await textsIn(join(root, 'operator'))
  for (const [command, [operation]] of Object.entries(everywhere)) {
    const [caller] = api.split(/^export /m).filter((each) => each.includes(`'${operation}'`))
    const name = /^const (\w+)/.exec(caller ?? '')?.[1]
    assert.ok(name, `${command}: console/api/operator.ts does not call ${operation}`)
    const used = new RegExp(`\\b${name}\\b`)
    assert.ok(
      pages.some((text) => used.test(text.replaceAll(/^import [^;]*? from '[^']*'$/gm, ''))),
      `${command}: no page calls ${name}`,
    )
  }
})

async function textsIn(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder, { recursive: true })
  return Promise.all(
    names.filter((name) => name.endsWith('.tsx')).map((name) => readFile(join(folder, name), 'utf8')),
  )
}
