package live

import "strings"

// The tags around the parts of an answer.
const (
	analysisOpen  = "<analysis>"
	analysisClose = "</analysis>"
	summaryOpen   = "<summary>"
	summaryClose  = "</summary>"
)

// extract returns what stands in the summary block of an answer and in the
// analysis ahead of it, and whether there is such a block; the whole of an answer
// that has neither is a summary. Tags inside the summary are the model's words.
// A text is gone through once, however many tags it has.
func extract(text string) (summary, analysis string, tagged bool) {
	text = clean(text)
	list := tagsOf(text)
	opened, closed := last(list, summaryOpen), last(list, summaryClose)
	var outside, inside strings.Builder
	done := 0 // bytes of text that are dealt with
	for i := 0; i < len(list) && !tagged; i++ {
		switch t := list[i]; t.name {
		case analysisOpen:
			outside.WriteString(text[done:t.at])
			end := i + 1
			for end < len(list) && list[end].name != analysisClose {
				end++
			}
			if end == len(list) || opened > i && opened < end && closed > end {
				// The end of the analysis is missing, or is one that the summary tells of.
				end = i + 1
				for end < len(list) && list[end].name != summaryOpen {
					end++
				}
			}
			stop := len(text)
			done = stop
			i = end
			if end < len(list) {
				stop, done = list[end].at, list[end].at
				if list[end].name == analysisClose {
					done = list[end].end()
				} else {
					i-- // the summary opens here
				}
			}
			inside.WriteString(strings.TrimSpace(text[t.end():stop]) + "\n")
		case summaryOpen:
			tagged, done = true, t.end()
		}
	}
	analysis = strings.TrimSpace(inside.String())
	stop := len(text)
	if closed >= 0 && list[closed].at >= done {
		stop = list[closed].at
	}
	if tagged {
		return strings.TrimSpace(text[done:stop]), analysis, true
	}
	return strings.TrimSpace(outside.String() + text[done:stop]), analysis, false
}

// tag is a tag of an answer as it stands in the text.
type tag struct {
	name string // one of the constants, whatever case its letters have
	at   int    // of its first byte
}

func (t tag) end() int { return t.at + len(t.name) }

// tagsOf returns the tags of a text in its order.
func tagsOf(text string) []tag {
	var list []tag
	for i := 0; ; i++ {
		at := strings.IndexByte(text[i:], '<')
		if at < 0 {
			return list
		}
		i += at
		for _, name := range [...]string{analysisOpen, analysisClose, summaryOpen, summaryClose} {
			if len(text)-i >= len(name) && strings.EqualFold(text[i:i+len(name)], name) {
				list = append(list, tag{name, i})
			}
		}
	}
}

// last returns the position in a list of the last tag of a name, -1 for none.
func last(list []tag, name string) int {
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].name == name {
			return i
		}
	}
	return -1
}
