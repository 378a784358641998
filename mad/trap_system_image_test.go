package mad

func (d SystemImageDetails) opensm() []string {
	return []string{line("lid", d.LID), line("new_sys_guid", d.SystemImageGUID)}
}
