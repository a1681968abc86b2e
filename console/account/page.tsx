import { requestJson } from '../api/request.ts'
import { session } from '../api/session.ts'
import { formatBytes, formatCount } from '../parts/format.ts'
import { Load, useLoaded } from '../parts/loading.tsx'
import { Notice } from '../parts/notice.tsx'

type Me = Readonly<{
  user_data: Readonly<{ quota_in_bytes: number; db_size_in_bytes: number; table_count: number }>
}>

export default function AccountPage() {
  const { username, token, isMaster, organization } = session.value!
  const me = useLoaded((signal) => requestJson<Me>('whoAmI', { signal }), [token])
  return (
    <div class="page">
      <div class="inside">
        <h1>{username}</h1>
        <p class="muted">
          {isMaster
            ? 'Signed in with the Master key.'
            : token
              ? 'Signed in with a key.'
              : 'Looking around without a key.'}
          {organization && ` Member of ${organization}.`}
        </p>
        {token === null ? (
          <Notice>Sign in with a key to see the size of the account.</Notice>
        ) : (
          <Load from={me}>{({ user_data }) => <Usage {...user_data} />}</Load>
        )}
      </div>
    </div>
  )
}

function Usage({ quota_in_bytes, db_size_in_bytes, table_count }: Me['user_data']) {
  return (
    <section class="panel stack" aria-label="Size">
      <h2>Size</h2>
      <p>
        {formatBytes(db_size_in_bytes)}
        {quota_in_bytes > 0 ? ` of ${formatBytes(quota_in_bytes)}` : ', without a limit'} in{' '}
        {formatCount(table_count)} tables
      </p>
      {quota_in_bytes > 0 && <meter aria-label="Used" max={quota_in_bytes} value={db_size_in_bytes} />}
    </section>
  )
}
