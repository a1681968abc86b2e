import { useState } from 'preact/hooks'
import type { NewWebhookDocument, WebhookDocument } from '../../../src/contract/webhooks.ts'
import { request, requestJson } from '../../api/request.ts'
import { CodeBlock } from '../../parts/code-block.tsx'
import { Field } from '../../parts/controls/field.tsx'
import { Load, useLoaded } from '../../parts/loading.tsx'
import { ErrorNotice } from '../../parts/notice.tsx'
import { toast } from '../../parts/toast.tsx'
import { useWork } from '../../parts/work.ts'
import { Deliveries } from './deliveries.tsx'

/** The addresses that are notified of the end of jobs and imports. */
export function WebhooksPanel() {
  const webhooks = useLoaded(
    async (signal) =>
      (await requestJson<{ webhooks: readonly WebhookDocument[] }>('listWebhooks', { signal })).webhooks,
    [],
  )
  const [made, setMade] = useState<NewWebhookDocument | undefined>(undefined)
  const [round, setRound] = useState(0)
  return (
    <section class="panel stack" aria-labelledby="webhooks">
      <h2 id="webhooks">Webhooks</h2>
      <p class="muted">Each address gets a signed message when a job or import of this account ends.</p>
      <Load from={webhooks} lines={2}>
        {(all) => <WebhookList webhooks={all} changed={webhooks.reload} tested={() => setRound(round + 1)} />}
      </Load>
      {made && (
        <>
          <CodeBlock label={`Secret of ${made.url}`} text={made.secret} />
          <p class="muted">The secret of {made.url} is shown only now.</p>
        </>
      )}
      <NewWebhook
        done={(webhook) => {
          setMade(webhook)
          webhooks.reload()
        }}
      />
      <Deliveries round={round} />
    </section>
  )
}

function NewWebhook({ done }: Readonly<{ done: (webhook: NewWebhookDocument) => void }>) {
  const [url, setUrl] = useState('')
  const { isBusy, error, begin } = useWork()
  const add = async () => {
    done(await requestJson<NewWebhookDocument>('createWebhook', { json: { url } }))
    setUrl('')
  }
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault()
        void begin(add)
      }}
    >
      <Field label="Address">
        {(given) => (
          <input
            {...given}
            type="url"
            placeholder="https://"
            value={url}
            onInput={(event) => setUrl(event.currentTarget.value)}
          />
        )}
      </Field>
      {error !== undefined && <ErrorNotice error={error} />}
      <div class="row">
        <button type="submit" disabled={isBusy || url === ''}>
          Add webhook
        </button>
      </div>
    </form>
  )
}

type ListProps = Readonly<{ webhooks: readonly WebhookDocument[]; changed: () => void; tested: () => void }>

function WebhookList({ webhooks, changed, tested }: ListProps) {
  const { isBusy, error, begin } = useWork()
  if (webhooks.length === 0) return <p class="muted">No webhooks yet.</p>
  const test = (webhookId: string) =>
    begin(async () => {
      await request('testWebhook', { parameters: { webhookId } })
      toast('A test message is on its way')
      tested()
    })
  const remove = (webhookId: string) =>
    begin(async () => {
      await request('deleteWebhook', { parameters: { webhookId } })
      changed()
    })
  return (
    <ul class="kept">
      {webhooks.map(({ id, url, enabled }) => (
        <li key={id} class="row">
          <code class="grow">{url}</code>
          {!enabled && <span class="badge">off</span>}
          <button type="button" disabled={isBusy} onClick={() => void test(id)}>
            Send test
          </button>
          <button
            type="button"
            class="danger"
            aria-label={`Delete ${url}`}
            disabled={isBusy}
            onClick={() => void remove(id)}
          >
            Delete
          </button>
        </li>
      ))}
      {error !== undefined && <ErrorNotice error={error} />}
    </ul>
  )
}
