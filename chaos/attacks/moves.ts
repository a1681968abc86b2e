import { adminToken } from '../members.ts'
import { placesOf } from '../places.ts'
import { hostsOf, type Scene } from './scene.ts'

/** Moves a user to the other host. The answer may be lost: a recorded move is carried out all the same. */
export async function moveUser({ stage, random }: Scene): Promise<void> {
  const { second } = hostsOf(stage)
  const { account } = random.pick(stage.users)
  const isOnSecond = (await placesOf(stage)).get(account.database) === second.primary.url
  const { url } = random.pick(stage.servers)
  const response = await fetch(`${url}/admin/v1/users/${account.username}/move`, {
    method: 'POST',
    signal: AbortSignal.timeout(patienceMs),
    headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({ host: isOnSecond ? 'local' : second.name }),
  })
  if (response.status !== 202) throw new Error(`a move was answered with ${response.status}`)
}

const patienceMs = 10_000
