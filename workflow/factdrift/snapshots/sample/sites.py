"""The sites besides the English Wikipedia to which items of the sample link, in the order of their use.

The sample knows the number of sites that an item links to, not which: it gets the first ones of this list.
Sites are ordered by the number of the project's real test entities with a page there, Wikipedias first.
"""

_SITES = """
frwiki dewiki itwiki eswiki nlwiki plwiki ukwiki ruwiki zhwiki fawiki svwiki arwiki ptwiki jawiki cawiki
cswiki viwiki kowiki nowiki trwiki hewiki simplewiki idwiki eowiki fiwiki rowiki srwiki skwiki euwiki bgwiki
dawiki etwiki urwiki shwiki bewiki huwiki thwiki ltwiki azwiki mswiki hrwiki cywiki hywiki lawiki elwiki
zh_min_nanwiki slwiki glwiki lvwiki kawiki kkwiki astwiki azbwiki cebwiki zh_yuewiki nnwiki scowiki
be_x_oldwiki mkwiki tawiki bnwiki hiwiki wuuwiki afwiki ocwiki uzwiki fywiki pnbwiki iswiki brwiki warwiki
arzwiki mrwiki yiwiki iowiki bswiki sqwiki ttwiki gawiki lbwiki swwiki anwiki kywiki tlwiki mlwiki vowiki
tgwiki pawiki jvwiki ckbwiki scnwiki alswiki bawiki mgwiki cvwiki iawiki gdwiki cewiki htwiki lmowiki mnwiki
hakwiki knwiki ndswiki tewiki xmfwiki barwiki kuwiki diqwiki quwiki liwiki mywiki szlwiki vecwiki frrwiki
fowiki yowiki sahwiki scwiki bat_smgwiki newiki amwiki gvwiki pmswiki cdowiki newwiki pswiki siwiki
zh_classicalwiki ilowiki ruewiki oswiki sdwiki hsbwiki sowiki ugwiki extwiki iewiki suwiki wawiki bhwiki
fiu_vrowiki lijwiki nds_nlwiki vepwiki gnwiki kwwiki lfnwiki papwiki stqwiki bxrwiki hifwiki lnwiki angwiki
frpwiki udmwiki vlswiki arcwiki hawiki jamwiki mznwiki bowiki sewiki cowiki kaawiki lowiki mhrwiki bclwiki
bpywiki dsbwiki gcrwiki guwiki kvwiki ladwiki nrmwiki sawiki snwiki zeawiki crhwiki csbwiki kbpwiki lezwiki
mtwiki mwlwiki pcdwiki pihwiki tkwiki ganwiki nawiki wowiki zawiki gagwiki hywwiki kmwiki maiwiki minwiki
myvwiki napwiki novwiki olowiki satwiki acewiki kabwiki nahwiki pamwiki aswiki aywiki cbk_zamwiki furwiki
hawwiki rmwiki xalwiki jbowiki kbdwiki rwwiki chrwiki dtywiki dvwiki emlwiki smwiki twwiki fjwiki zuwiki
cuwiki gomwiki krcwiki map_bmswiki miwiki roa_tarawiki tetwiki tpiwiki adywiki gotwiki omwiki shnwiki kgwiki
nsowiki piwiki roa_rupwiki biwiki ffwiki inhwiki orwiki rmywiki srnwiki szywiki tumwiki abwiki avwiki eewiki
kiwiki pdcwiki banwiki dzwiki igwiki klwiki mdfwiki sswiki tswiki akwiki awawiki bugwiki ltgwiki bjnwiki
kshwiki mrjwiki smnwiki stwiki tywiki arywiki koiwiki pagwiki bmwiki chwiki ikwiki nywiki rnwiki xhwiki
chywiki lgwiki lldwiki lrcwiki nvwiki pntwiki tyvwiki glkwiki pflwiki tiwiki avkwiki iuwiki nqowiki sgwiki
lbewiki tcywiki madwiki towiki vewiki dinwiki mniwiki niawiki tnwiki trvwiki atjwiki crwiki gorwiki kswiki
taywiki mnwwiki skrwiki iiwiki
commonswiki ruwikinews enwikivoyage plwikiquote dewikinews itwikiquote dewikivoyage enwikinews enwikiquote
frwikinews hewikivoyage itwikivoyage nlwikinews plwikivoyage nlwikivoyage fawikivoyage frwikivoyage
eowikinews dewikiquote viwikivoyage eswikivoyage fiwikivoyage ptwikivoyage ruwikivoyage fawikiquote
srwikinews eswikinews ptwikinews elwikivoyage eowikiquote ukwikiquote zhwikivoyage ruwikiquote svwikinews
svwikivoyage enwikisource itwikinews arwikinews cswikiquote rowikivoyage eswikiquote ukwikivoyage plwikinews
cswikinews fawikinews jawikinews hewikiquote trwikinews cawikinews eowikivoyage frwikiquote kowikinews
ptwikiquote skwikiquote tawikinews ukwikinews huwikinews elwikinews fiwikinews ltwikiquote rowikinews
trwikivoyage zhwikinews hewikinews nowikinews sqwikinews zhwikiquote etwikiquote arwikiquote bswikinews
cawikiquote dewikisource trwikiquote azwikiquote bgwikiquote elwikiquote fiwikiquote hiwikivoyage jawikiquote
bnwikivoyage huwikiquote hywikiquote idwikiquote itwikiversity hrwikiquote nnwikiquote ptwikibooks
jawikivoyage bswikiquote enwikiversity jawikibooks nlwikibooks arwikibooks arwikiversity frwikiversity
hiwikiquote liwikinews nlwikiquote slwikiquote srwikiquote dewikibooks enwikibooks eswikibooks frwikibooks
itwikisource kuwikiquote lawikiquote metawiki simplewikiquote tawikiquote thwikiquote azwikibooks bgwikinews
cswikibooks cswikiversity cywikiquote eswikiversity fawikibooks frwikisource glwikiquote kowikiquote
mlwikiquote plwikibooks ruwikisource specieswiki svwikibooks svwikiquote tawikibooks thwikinews urwikiquote
zhwikibooks afwikibooks arwikisource bewikiquote bnwikibooks cawikibooks cawiktionary cywikibooks dawikiquote
dewikiversity elwikiversity eowikibooks euwikiquote fiwikibooks hewikibooks hrwikibooks idwikibooks
incubatorwiki iswikibooks itwikibooks jawikisource kawikibooks kawikiquote kowikibooks kowikisource
kowikiversity liwikibooks liwikiquote ltwikibooks mswikibooks nlwikisource nowikibooks plwikisource
pswikivoyage ptwikiversity rowikibooks ruwikibooks ruwikiversity sqwikibooks tgwikibooks thwikibooks
trwikibooks ukwikibooks viwikibooks
"""

OTHER_SITES: tuple[str, ...] = tuple(_SITES.split())
