import { useEffect, useState } from 'preact/hooks'
import { requestJson } from '../api/request.ts'
import { unpackSchedule } from '../api/share.ts'
import { fragment, hrefOf, navigate } from '../parts/browser/route.ts'
import { ErrorNotice } from '../parts/notice.tsx'
import { toast } from '../parts/toast.tsx'
import { useWork } from '../parts/work.ts'

/** A new schedule of one statement. */
export function ScheduleForm() {
  const [wanted, setWanted] = useState({ name: '', cron: '30 2 * * *', timezone: viewerZone(), query: '' })
  const [notify, setNotify] = useState('')
  const [params, setParams] = useState<readonly unknown[] | undefined>(undefined)
  useFromEditor((query, values) => {
    setWanted((former) => ({ ...former, query }))
    setParams(values)
  })
  const { isBusy, error, begin } = useWork()
  const create = (event: Event) => {
    event.preventDefault()
    void begin(async () => {
      const told = notify === '' ? {} : { notify: [{ url: notify }] }
      await requestJson('createSchedule', { json: { ...wanted, ...told, ...(params && { params }) } })
      navigate('/schedules')
    })
  }
  const field = (member: keyof typeof wanted, label: string) => (
    <label>
      {label}
      <input
        required
        value={wanted[member]}
        onInput={({ currentTarget }) => setWanted((former) => ({ ...former, [member]: currentTarget.value }))}
      />
    </label>
  )
  return (
    <>
      <p class="small">
        <a href={hrefOf('/schedules')}>Schedules</a> /
      </p>
      <h1>New schedule</h1>
      <form class="panel stack" onSubmit={create}>
        {field('name', 'Name')}
        {field('cron', 'Cron: minute, hour, day, month, weekday')}
        {field('timezone', 'Time zone')}
        <label>
          Statement
          <textarea
            required
            rows={4}
            value={wanted.query}
            onInput={({ currentTarget }) =>
              setWanted((former) => ({ ...former, query: currentTarget.value }))
            }
          />
        </label>
        {params && <Values params={params} />}
        <NotifyField value={notify} change={setNotify} />
        {error !== undefined && <ErrorNotice error={error} />}
        <div class="row">
          <button type="submit" class="primary" disabled={isBusy}>
            Create schedule
          </button>
        </div>
      </form>
    </>
  )
}

/** A statement of the editor, in the fragment of the address, which is then removed. */
function useFromEditor(take: (query: string, params: readonly unknown[] | undefined) => void): void {
  useEffect(() => {
    if (!fragment.value.startsWith('#s=')) return
    void unpackSchedule(fragment.value).then((wanted) => {
      if (wanted) take(wanted.query, wanted.params)
      else toast('The link is damaged or too long')
      navigate('/schedules/new', { replace: true })
    })
  }, [fragment.value])
}

/** Sent with each run, with their current values. */
function Values({ params }: Readonly<{ params: readonly unknown[] }>) {
  return (
    <div class="small">
      Values from the editor, the same at each run
      <ul aria-label="Values" class="values">
        {params.map((value, at) => (
          <li key={`$${at + 1}`}>
            <code>{`$${at + 1} = ${JSON.stringify(value)}`}</code>
          </li>
        ))}
      </ul>
    </div>
  )
}

function NotifyField({ value, change }: Readonly<{ value: string; change: (url: string) => void }>) {
  return (
    <label>
      Notify (optional): an address that gets a message when a job ends or the schedule is disabled
      <input
        type="url"
        placeholder="https://"
        value={value}
        onInput={({ currentTarget }) => change(currentTarget.value)}
      />
    </label>
  )
}

const viewerZone = () => Intl.DateTimeFormat().resolvedOptions().timeZone
