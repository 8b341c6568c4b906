/** How often spends were left to the search of a restore that ended: by chain, out of the record that every pass read whole. */
export const SPENDS_LEFT: readonly string[] = [
  `INSERT OR IGNORE INTO setting (key, value, updated_at)
   SELECT 'spends_left:' || chain.key, CAST(chain.value AS TEXT), setting.updated_at
   FROM setting, json_each(setting.value, '$.left') AS chain WHERE setting.key = 'restored'`,
  `UPDATE setting SET value = json_remove(value, '$.left') WHERE key = 'restored'`,
];
