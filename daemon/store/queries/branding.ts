/** Statements about how businesses look to their payers. */
import type { Selectable } from 'kysely';
import type { Schema } from '../schema.ts';
import { sqlite, statement } from '../statement.ts';

export type BrandRow = Selectable<Schema['brand']>;

export const allBrands = statement((_: Record<never, never>) => sqlite.selectFrom('brand').selectAll());

export const setBrand = statement((p: BrandRow) =>
  sqlite
    .insertInto('brand')
    .values({ business_id: p.business_id, display_name: p.display_name, accent: p.accent, logo_id: p.logo_id })
    .onConflict((conflict) =>
      conflict
        .column('business_id')
        .doUpdateSet({ display_name: p.display_name, accent: p.accent, logo_id: p.logo_id }),
    ),
);

export const insertLogo = statement((p: { id: string; type: string; bytes: Uint8Array }) =>
  sqlite
    .insertInto('logo')
    .values({ id: p.id, type: p.type, bytes: p.bytes })
    .onConflict((conflict) => conflict.doNothing()),
);

export const logoById = statement((p: { id: string }) => sqlite.selectFrom('logo').selectAll().where('id', '=', p.id));

export const deleteLogo = statement((p: { id: string }) => sqlite.deleteFrom('logo').where('id', '=', p.id));
