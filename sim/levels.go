package sim

// level notes at which level of its window a thread sends a request.
func (l *Loop) level(*thread) {}
