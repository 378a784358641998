package mad

func (d PortErrorDetails) opensm() []string {
	return []string{line("lid", d.LID), line("port_num", d.Port)}
}
