package export

import "slices"

// SetGroup changes the number of rows of a row group.
func (t *Table) SetGroup(rows int) { t.group = rows }

// Columns returns the columns that every table with a label has, in order. A
// table without labels has no column run; those of parameters, p_NAME, come
// ahead of the last two.
func Columns() []Column { return slices.Concat(keys(true), figures(), tallies()) }
