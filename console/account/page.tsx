import { requestJson } from '../api/request.ts'
import { session } from '../api/session.ts'
import { serviceAddress } from '../parts/browser/address.ts'
import { hrefOf } from '../parts/browser/route.ts'
import { adoptStyles } from '../parts/browser/styles.ts'
import { formatTime } from '../parts/format.ts'
import { Load, useLoaded } from '../parts/loading.tsx'
import { Notice } from '../parts/notice.tsx'
import css from './account.css' with { type: 'text' }
import { KeptPanel } from './kept-panel.tsx'
import { LargestTables } from './largest-tables.tsx'
import { OwnUsage } from './own-usage.tsx'
import { RatePanel } from './rate-panel.tsx'
import { Size } from './size.tsx'
import { TablesNotVacuumed } from './tables-not-vacuumed.tsx'
import { WebhooksPanel } from './webhooks/webhooks-panel.tsx'

adoptStyles(css)

type Me = Readonly<{
  user_data: Readonly<{
    base_url: string
    quota_in_bytes: number
    db_size_in_bytes: number
    table_count: number
    created_at: string
  }>
}>

export default function AccountPage() {
  const { username, token, isMaster, keyName, organization } = session.value!
  const me = useLoaded(
    async (signal) => (token === null ? undefined : requestJson<Me>('whoAmI', { signal })),
    [token],
  )
  return (
    <div class="page">
      <div class="inside">
        <div>
          <h1>{username}</h1>
          <p class="muted">
            {keyName ? `Signed in with the ${keyName} key.` : 'Browsing public data without a key.'}
            {organization && ` Member of ${organization}.`}
          </p>
        </div>
        {token === null ? (
          <Notice>Sign in with a key to see the size of the account.</Notice>
        ) : (
          <Load from={me}>{(found) => found && <Known {...found.user_data} />}</Load>
        )}
        {isMaster && <OwnUsage />}
        {isMaster && <WebhooksPanel />}
        <KeptPanel />
      </div>
    </div>
  )
}

function Known({ base_url, created_at, ...size }: Me['user_data']) {
  return (
    <>
      <section class="panel stack" aria-labelledby="size">
        <h2 id="size">Size</h2>
        <Size {...size} />
        <LargestTables />
        <TablesNotVacuumed />
      </section>
      <section class="panel stack" aria-labelledby="service">
        <h2 id="service">Service</h2>
        <p>
          Base URL of the API: <code>{base_url}</code>. <a href={`${serviceAddress}/docs`}>API reference</a>,{' '}
          <a href={hrefOf('/guide')}>guide</a>
        </p>
        <p>Account created {formatTime(created_at)}.</p>
        <RatePanel />
      </section>
    </>
  )
}
