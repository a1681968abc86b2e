import type { ImportWishes } from '../../../file-import/plan-import.ts'
import type { FileReading } from '../../../file-import/read-types.ts'
import type { ValueForm } from '../../../file-import/values/local-values.ts'
import { ask } from '../../ask.ts'
import { textOf } from '../../option-values.ts'
import type { UserCall } from '../command.ts'

type Forms = Pick<ImportWishes, 'dates' | 'decimals'>

/** The form of ambiguous dates and numbers: from the options, or asked on a terminal. */
export async function formsOf(call: UserCall, { inference }: FileReading): Promise<Forms> {
  const undecided = inference.columns.filter(({ type, either }) => type === 'text' && either !== undefined)
  const example = (form: ValueForm) => undecided.find(({ either }) => either?.[form] !== undefined)?.reason
  return {
    dates: await chosen(call, 'dates', ['dmy', 'mdy'], example('dmy') ?? example('mdy')),
    decimals: await chosen(call, 'decimals', ['comma', 'point'], example('comma') ?? example('point')),
  }
}

async function chosen<Form extends ValueForm>(
  { terminal, values }: UserCall,
  option: 'dates' | 'decimals',
  forms: readonly Form[],
  reason: string | undefined,
): Promise<Form | undefined> {
  const told = textOf(values, option) as Form | undefined
  if (told !== undefined || reason === undefined || !terminal.canAsk) return told
  for (;;) {
    const answer = await ask(terminal, `${reason}. ${forms.join(', ')} or text`, `--${option}`, 'text')
    if (answer === 'text') return undefined
    const found = forms.find((form) => form === answer)
    if (found) return found
  }
}
