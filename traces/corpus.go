package traces

// Corpus is what was read from a set of recordings.
type Corpus struct {
	Sessions    []*Session     // ordered by start, then id
	Problems    []Problem      // of files and folders that belong to no session; at most Options.MaxProblems
	NumProblems int            // all problems, those of the sessions included
	Lines       int            // lines read, blank ones aside
	BadLines    int            // lines that are not valid or not understood
	Bytes       int64          // decompressed bytes read
	Unknown     map[string]int // lines by type, for types the reader does not know
	Unsupported map[string]int // files by agent, of agents whose recordings are not supported
	Repeated    int            // calls met again in a later session
	Inputs      *Inputs        // where the text can be read again
}

// Close removes what was spooled to read the corpus.
func (c *Corpus) Close() error {
	if c.Inputs == nil {
		return nil
	}
	return c.Inputs.Close()
}

// Input returns the file with a name as in Session.Files, to read its text again.
func (c *Corpus) Input(name string) (Input, bool) {
	if c.Inputs != nil {
		for _, in := range c.Inputs.Files {
			if in.Name == name {
				return in, true
			}
		}
	}
	return Input{}, false
}
