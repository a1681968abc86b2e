import { useState } from 'preact/hooks'
import { requestJson } from '../api/request.ts'
import { hrefOf, navigate } from '../parts/browser/route.ts'
import { ErrorNotice } from '../parts/notice.tsx'
import { useWork } from '../parts/work.ts'

/** A new schedule of one statement. */
export function ScheduleForm() {
  const [wanted, setWanted] = useState({ name: '', cron: '30 2 * * *', timezone: viewerZone(), query: '' })
  const [notify, setNotify] = useState('')
  const { isBusy, error, begin } = useWork()
  const create = (event: Event) => {
    event.preventDefault()
    void begin(async () => {
      const told = notify === '' ? {} : { notify: [{ url: notify }] }
      await requestJson('createSchedule', { json: { ...wanted, ...told } })
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

function NotifyField({ value, change }: Readonly<{ value: string; change: (url: string) => void }>) {
  return (
    <label>
      Notify (optional): an address that is told of the end of its jobs, and when it is disabled
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
