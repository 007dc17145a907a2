package reading

// Intern returns the index of a name in a list, adding it when it is new. It
// returns 0 for a name that the type of the index has no room for.
func Intern[N uint16 | int32](index map[string]N, list *[]string, name string) N {
	i, ok := index[name]
	if !ok {
		if i = N(len(*list)); int(i) != len(*list) {
			return 0
		}
		index[name] = i
		*list = append(*list, name)
	}
	return i
}
