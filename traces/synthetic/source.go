package synthetic

import (
	"fmt"
	"strings"
)

// source writes the text of file index after so many edits: functions, each
// decided by the last edit that fell on it. Its numbered form has size bytes.
func source(d dice, index, edits, size int) string {
	seed := forFileSeed | uint64(index)<<32
	touched := map[int]uint64{}
	functionsIn := max(1, size/400)
	for e := range edits {
		k := d.below(forFileEdit, seed|uint64(e), functionsIn)
		touched[k] = uint64(e) + 1
	}
	f := newFiller(d, 0, size)
	own := [2]string{
		nouns[d.below(forFilePick, uint64(index), len(nouns))],
		nouns[d.below(forFilePick, seed, len(nouns))],
	}
	for k, lines := 0, 0; f.Len()+lines*numberBytes < size; k++ {
		f.id, f.step = seed|uint64(k)<<16|touched[k], 0
		from := f.Len()
		f.function(own[f.below(2)])
		lines += strings.Count(f.String()[from:], "\n")
	}
	return cutNumbered(f.String(), size)
}

// numberBytes is the length of a line number and its arrow in cat -n.
const numberBytes = len("     1→")

// cutNumbered returns the start of text whose numbered form has size bytes.
func cutNumbered(text string, size int) string {
	end := 0
	for line := range strings.SplitAfterSeq(text, "\n") {
		size -= numberBytes
		if size <= len(line) {
			return text[:end+max(size, 0)]
		}
		size -= len(line)
		end += len(line)
	}
	return text
}

// numbered returns the lines of text from line first on, at most limit of them
// (0 is all), in the form of cat -n that Read returns, and as they stand in the
// file, cut so that the numbered form has at most size bytes.
func numbered(text string, first, limit, size int) (shown, plain string, lines int) {
	var s, p strings.Builder
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		n++
		if n < first {
			continue
		}
		if limit > 0 && lines == limit || s.Len() >= size {
			break
		}
		if lines > 0 {
			s.WriteByte('\n')
			p.WriteByte('\n')
		}
		fmt.Fprintf(&s, "%6d→%s", n, line)
		p.WriteString(line)
		lines++
	}
	return cut(s.String(), size), p.String(), lines
}

// matches returns n bytes of the output of a search over the working set.
func matches(d dice, id uint64, files []file, n int) string {
	f := newFiller(d, id, n)
	for f.Len() < n {
		path := "internal/main.go"
		if len(files) > 0 {
			path = files[f.below(len(files))].path
		}
		noun, j := nouns[f.below(len(nouns))], f.below(len(functions))
		for i, line := range strings.Split(strings.TrimSpace(functions[j]), "\n") {
			fmt.Fprintf(f, "%s:%d:", path, 10+i)
			f.fill(line, noun, verbs[j%len(verbs)])
			f.WriteByte('\n')
		}
	}
	return cut(f.String(), n)
}

// paths returns n bytes of file names, one a line.
func paths(d dice, id uint64, files []file, n int) string {
	f := newFiller(d, id, n)
	for f.Len() < n {
		if len(files) == 0 {
			f.WriteString("internal/main.go\n")
			continue
		}
		f.WriteString(files[f.below(len(files))].path)
		f.WriteByte('\n')
	}
	return cut(f.String(), n)
}
