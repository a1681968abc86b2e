import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeTransport } from '../../src/client/http/node-transport.ts'
import { basicOf, type Connection, type Hooks } from '../../src/client/http/send.ts'
import { sendForJson } from '../../src/client/http/send-checked.ts'
import { startFront } from '../support/http/http-front.ts'
import { setup } from '../support/service/setup.ts'

test('a request whose key is refused is repeated with the key from the hook', async (t) => {
  const { url, user } = await setup(t)
  let token = 'wrong'
  const asked: number[] = []
  const onUnauthorized = async () => {
    asked.push(1)
    token = asked.length === 2 ? user.masterToken : token
    return asked.length < 4
  }
  const connection = connectionOf(t, url, { onUnauthorized }, () => basicOf(user.username, token))
  const me = await sendForJson<{ username: string }>(connection, 'whoAmI')
  assert.deepEqual([me.username, asked.length], [user.username, 2])
  token = 'wrong'
  await assert.rejects(sendForJson(connection, 'whoAmI'), { status: 401 })
  assert.equal(asked.length, 4)
})

test('the hook is told of an unreachable service, and only a read waits for it and is repeated', async (t) => {
  const { url, user } = await setup(t)
  const front = await startFront(t, url)
  const seen: string[] = []
  const answers: number[] = []
  const hooks: Hooks = {
    onUnreachable: async () => void seen.push(`after ${front.seen.length}`),
    onAnswer: ({ status }) => void answers.push(status),
  }
  const connection = connectionOf(t, front.url, hooks, () => basicOf(user.username, user.masterToken))
  front.next('lose-request')
  await sendForJson(connection, 'whoAmI')
  assert.deepEqual([seen, front.seen.length, answers], [['after 1'], 2, [200]])
  front.next('lose-request')
  const query = { parameters: { name: user.username }, json: { q: 'select 1' } }
  await assert.rejects(sendForJson(connection, 'query', query), { code: 'service-unreachable' })
  assert.deepEqual([seen, front.seen.length], [['after 1', 'after 3'], 3])
})

function connectionOf(
  t: Parameters<typeof setup>[0],
  baseUrl: string,
  hooks: Hooks,
  authorization: Connection['authorization'],
): Connection {
  const transport = nodeTransport(baseUrl)
  t.after(transport.close)
  return { baseUrl, authorization, transport, retries: 2, hooks }
}
