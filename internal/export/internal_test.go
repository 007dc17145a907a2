package export

// SetGroup changes the number of rows of a row group.
func (t *Table) SetGroup(rows int) { t.group = rows }
