// Rows under the pointer stay where they are. Pure.

/** The items in the order that is shown already, new ones at the end; those that are gone are left out. */
export function steady<T>(shown: readonly string[], items: readonly T[], keyOf: (item: T) => string): T[] {
  const place = new Map(shown.map((key, at) => [key, at]));
  const known = items.filter(item => place.has(keyOf(item))).sort((one, other) => place.get(keyOf(one))! - place.get(keyOf(other))!);
  return [...known, ...items.filter(item => !place.has(keyOf(item)))];
}
