import type { Entry } from './frame/entry.ts'
import { type Frame, inFrame } from './frame/frame.ts'
import { medianOf, seconds } from './frame/measure.ts'
import { RawClient } from './frame/raw-client.ts'
import type { RunningService } from './frame/service.ts'

const many = 1000
const few = 10
const perMeasurement = 15
// V8 compiles the code of a page while the first ones are answered.
const pagesUntilWarm = 1000

/** All keys of a user have grants on the same two tables, which is the worst case: it makes their access lists long. */
export const entries: readonly Entry[] = [
  {
    name: 'key-list',
    title: `A page of 20 keys of a user with ${many}`,
    baseline: `a page of all keys of a user with ${few}`,
    unit: 'ms',
    aim: '3 ms or less',
    pairs: 11,
    prepare: inFrame(async (frame) => {
      const [small, large] = await prepareUsers(frame)
      for (const user of [small, large]) await timePages(user, pagesUntilWarm)
      return { baseline: () => timePages(small), ours: () => timePages(large) }
    }),
  },
  {
    name: 'key-creation',
    title: `Creating a key beside ${many} others`,
    baseline: `creating a key beside ${few} others`,
    unit: 'ms',
    aim: '1.1 or less',
    pairs: 11,
    prepare: inFrame(async (frame) => {
      const [small, large] = await prepareUsers(frame)
      return { baseline: () => timeCreation(small), ours: () => timeCreation(large) }
    }),
  },
]

type User = Readonly<{
  url: string
  pathOfPage: string
  create: (name: string) => Promise<unknown>
  remove: (name: string) => Promise<unknown>
}>

async function prepareUsers(frame: Frame): Promise<[small: User, large: User]> {
  const service = await frame.startService()
  const users: [User, User] = [await prepareUser(service, 'small'), await prepareUser(service, 'large')]
  for (const [index, count] of [few, many].entries()) {
    for (let number = 0; number < count; number++) await users[index]!.create(`key ${number}`)
  }
  return users
}

async function prepareUser(service: RunningService, username: string): Promise<User> {
  const { api_key: token } = (await service.admin('POST', '/users', { username })) as { api_key: string }
  const base = `${service.url}/user/${username}`
  const authorization = `Basic ${Buffer.from(`${username}:${token}`).toString('base64')}`
  const call = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(`${base}${path}`, {
      method,
      headers: { authorization, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
  }
  await call('POST', '/api/v2/sql', { q: 'create table a (id serial); create table b (id serial)' })
  return {
    url: service.url,
    pathOfPage: `/user/${username}/api/v3/api_keys?order=name&type=regular&api_key=${token}`,
    create: (name) => call('POST', '/api/v3/api_keys', { name, grants }),
    remove: (name) => call('DELETE', `/api/v3/api_keys/${encodeURIComponent(name)}`),
  }
}

const grants = [
  { type: 'apis', apis: ['sql'] },
  {
    type: 'database',
    tables: [
      { schema: 'public', name: 'a', permissions: ['select', 'insert'] },
      { schema: 'public', name: 'b', permissions: ['select'] },
    ],
  },
]

/** On a plain socket: an HTTP client takes a millisecond itself. */
async function timePages({ url, pathOfPage }: User, count = perMeasurement): Promise<number> {
  const client = new RawClient(url)
  try {
    return await time(() => client.read(pathOfPage), count)
  } finally {
    client.close()
  }
}

async function time(act: () => Promise<unknown>, count = perMeasurement): Promise<number> {
  return 1000 * (await medianOf(count, () => seconds(act)))
}

/** The number of keys stays the same: a created key is removed, outside the measured time. */
async function timeCreation(user: User): Promise<number> {
  const names = Array.from({ length: perMeasurement }, (_, number) => `timed ${number}`)
  const left = [...names]
  const measured = await time(() => user.create(left.pop()!))
  for (const name of names) await user.remove(name)
  return measured
}
