from small_shoot import small_lens, small_shoot, small_target
