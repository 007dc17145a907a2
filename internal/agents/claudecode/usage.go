package claudecode

// maxTokens is the largest token count that is believed, far above any context
// window and far below where sums of a call would leave an int32.
const maxTokens = 100_000_000

// usage reads the token counts of a response. Counts that are missing where
// they must not be, negative or absurd make the usage unusable.
func (p *parser) usage(u *usage) {
	var input, output, read, created, split5m, split1h int64
	if p.peek() != '{' {
		p.skip()
		return
	}
	u.ok = true
	seen := false
	for name := range p.members {
		switch string(name) {
		case "input_tokens":
			seen = true
			input = p.count(u)
		case "output_tokens":
			output = p.count(u)
		case "cache_read_input_tokens":
			read = p.count(u)
		case "cache_creation_input_tokens":
			created = p.count(u)
		case "cache_creation":
			split5m, split1h = p.creation(u)
		default:
			p.skip()
		}
	}
	if !seen {
		u.ok = false
	}
	created = max(created, split5m+split1h)
	u.Uncached, u.Read, u.Output = input, read, output
	u.Write1h = split1h
	u.Write5m = created - split1h
	u.assumed = u.Write5m > split5m
	if input+read+created == 0 || input+read+created > maxTokens {
		u.ok = false
	}
}

func (p *parser) creation(u *usage) (split5m, split1h int64) {
	for name := range p.members {
		switch string(name) {
		case "ephemeral_5m_input_tokens":
			split5m = p.count(u)
		case "ephemeral_1h_input_tokens":
			split1h = p.count(u)
		default:
			p.skip()
		}
	}
	return split5m, split1h
}

// count reads one token count; null is none.
func (p *parser) count(u *usage) int64 {
	if p.peek() == 'n' {
		p.skip()
		return 0
	}
	n, ok := p.integer()
	if !ok || n < 0 || n > maxTokens {
		u.ok = false
		return 0
	}
	return n
}
