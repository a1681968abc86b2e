import assert from 'node:assert/strict'
import { test } from 'node:test'
import { serviceCommandNames } from '../../src/cli/service-commands.ts'
import { cartage } from '../support/http/call.ts'

test('help COMMAND and COMMAND --help explain every command and every group of commands', async () => {
  const groups = [...serviceCommandNames.map((name) => name.split(' ')[0]!), 'job', 'key', 'copy']
  const asked = ['serve', 'user create', 'table share', 'job run', ...groups]
  await Promise.all(
    [...new Set(asked)].map(async (name) => {
      const words = name.split(' ')
      const help = await cartage({}, 'help', ...words)
      assert.equal(help.code, 0, help.err)
      assert.ok(help.out.includes(name), help.out)
      assert.deepEqual(await cartage({}, ...words, '--help'), help)
    }),
  )
  const { out } = await cartage({}, 'help', 'user')
  assert.match(
    out,
    /^On the machine of the service:\n {2}user create {5}create a user [\s\S]*\n {2}user delete /,
  )
  assert.ok(out.endsWith('\n\ncartage help user create explains one.\n'), out)
})

test('an incomplete command is told how it can continue', async () => {
  const say = async (...args: string[]) => {
    const { code, err } = await cartage({}, ...args)
    assert.equal(code, 2)
    return err
  }
  assert.equal(
    await say('job'),
    "error: unknown command 'job'; after 'job' comes one of run, status, wait, follow, cancel, again, list\n",
  )
  assert.match(
    await say('user', 'crate'),
    /unknown command 'user crate'; after 'user' comes one of create, list, /,
  )
  assert.equal(
    await say('serve', '--no-workers'),
    "cartage: Unknown option '--no-workers'\nusage: cartage serve [--no-worker]\n",
  )
  assert.equal(await say('jbo'), "error: unknown command 'jbo'; cartage --help lists them\n")
})
