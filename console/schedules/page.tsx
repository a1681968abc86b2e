import { adoptStyles } from '../parts/browser/styles.ts'
import { ScheduleForm } from './schedule-form.tsx'
import { ScheduleList } from './schedule-list.tsx'
import css from './schedules.css' with { type: 'text' }

adoptStyles(css)

export default function SchedulesPage({ segments: [name] }: Readonly<{ segments: readonly string[] }>) {
  return (
    <div class="page">
      <div class="inside" key={name}>
        {name === 'new' ? <ScheduleForm /> : <ScheduleList />}
      </div>
    </div>
  )
}
