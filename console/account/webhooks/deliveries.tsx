import { useEffect } from 'preact/hooks'
import type { DeliveryDocument, DeliveryList } from '../../../src/contract/webhooks.ts'
import { request, requestJson } from '../../api/request.ts'
import { formatAge, plural } from '../../parts/format.ts'
import { useLoaded } from '../../parts/loading.tsx'
import { ErrorNotice } from '../../parts/notice.tsx'
import { useWork } from '../../parts/work.ts'

/** The newest messages. Polled while some have not ended. */
export function Deliveries({ round }: Readonly<{ round: number }>) {
  const { value = [], reload } = useLoaded(
    async (signal) =>
      (await requestJson<DeliveryList>('listDeliveries', { query: { per_page: mostShown }, signal }))
        .deliveries,
    [round],
  )
  const { isBusy, error, begin } = useWork()
  const isWaiting = value.some(({ status }) => status === 'pending')
  useEffect(() => {
    if (!isWaiting) return
    const timer = setInterval(reload, 2_000)
    return () => clearInterval(timer)
  }, [isWaiting])
  if (value.length === 0) return null
  const again = (deliveryId: string) =>
    begin(async () => {
      await request('redeliver', { parameters: { deliveryId } })
      reload()
    })
  return (
    <>
      <h3>Messages</h3>
      {error !== undefined && <ErrorNotice error={error} />}
      <ul class="kept">
        {value.map((delivery) => (
          <li key={delivery.id} class="row">
            <span class={`badge ${looks[delivery.status]}`}>{delivery.status}</span>
            <span class="grow">
              {delivery.type} to <code>{delivery.url}</code>
              <br />
              <span class="small muted">{describe(delivery)}</span>
            </span>
            {delivery.status !== 'pending' && (
              <button type="button" disabled={isBusy} onClick={() => void again(delivery.id)}>
                Send again
              </button>
            )}
          </li>
        ))}
      </ul>
    </>
  )
}

const mostShown = 10
const looks = { pending: '', delivered: 'good', undelivered: 'error' } as const

const describe = ({ created_at, attempts, failure }: DeliveryDocument) =>
  [formatAge(created_at), plural(attempts, 'attempt'), ...(failure === null ? [] : [failure])].join(' · ')
