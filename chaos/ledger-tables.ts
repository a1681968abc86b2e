/** Accepts every entry, also a duplicate. In the second table a commit takes a while. */
export function ledgerOwnedBy(role: string): string {
  return `
    create table public.ledger (entry text not null, at timestamptz not null default clock_timestamp());
    create table public.slow_ledger (like public.ledger including all);
    create function public.dawdle() returns trigger language plpgsql as
      'begin perform pg_catalog.pg_sleep(0.03); return null; end';
    create constraint trigger dawdle after insert on public.slow_ledger
      deferrable initially deferred for each row execute function public.dawdle();
    alter function public.dawdle() owner to "${role}";
    alter table public.ledger owner to "${role}";
    alter table public.slow_ledger owner to "${role}"`
}
