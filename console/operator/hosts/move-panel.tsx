import type { UserDocument } from '../../../src/contract/documents.ts'
import { listHosts } from '../../api/operator.ts'
import { useLoaded } from '../../parts/loading.tsx'
import { MoveTo } from './move-to.tsx'

/** The host of a user, and a move to another one. Empty with only one host. */
export function MovePanel({ of: { username, organization, host } }: Readonly<{ of: UserDocument }>) {
  const hosts = useLoaded(listHosts, [])
  if (hosts.value === undefined || hosts.value.length < 2) return null
  return (
    <section class="panel stack" aria-labelledby="host">
      <h2 id="host">Host</h2>
      <p>
        {username} is on {host}.{' '}
        {organization === null
          ? 'While it moves, its requests are answered 503 and its jobs wait.'
          : `It moves with its organization ${organization}.`}
      </p>
      {organization === null && <MoveTo of={{ kind: 'user', name: username, host }} hosts={hosts.value} />}
    </section>
  )
}
